#pragma once

#include <gtest/gtest.h>

#include <QLabel>
#include <QStatusBar>
#include <QTest>

#include "gui/widgets/main_window.h"

namespace ulpscope::gui {

/// The real window, driven by keys and mouse; a fixture is put on top of `Base`.
template <class Base>
class WindowDriver : public Base {
 protected:
  WindowDriver() {
    window_.QMainWindow::show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&window_));
  }
  void open(const std::string& a, const std::string& b = {}) {
    bool shown = false;
    bool failed = false;
    const auto x = QObject::connect(&window_, &MainWindow::shown, [&] { shown = true; });
    const auto y = QObject::connect(&window_, &MainWindow::failed, [&] { failed = true; });
    window_.open({QString::fromStdString(a), QString::fromStdString(b), {}});
    ASSERT_TRUE(QTest::qWaitFor([&] { return shown || failed; }, 20'000));
    QObject::disconnect(x);
    QObject::disconnect(y);
    QCoreApplication::processEvents();
  }
  template <class Widget>
  Widget* part(const char* name) {
    auto* widget = window_.template findChild<Widget*>(name);
    EXPECT_NE(widget, nullptr) << name;
    return widget;
  }
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(&window_, key, modifiers);
    QCoreApplication::processEvents();
  }
  QString status() { return window_.template findChild<QStatusBar*>()->currentMessage(); }
  const Document& document() { return *window_.document(); }
  uint32_t pair() { return window_.selection().pair(); }
  QString banner() { return part<QLabel>("bannerTitle")->text(); }

  MainWindow window_;
};

}  // namespace ulpscope::gui
