#include <gtest/gtest.h>

#include <QApplication>
#include <clocale>

#include "gui/widgets/theme.h"

/// Real widgets and real events, without a screen.
int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&argc, argv);
  QApplication application(argc, argv);
  ulpscope::gui::applyTheme(application, ulpscope::gui::ThemeChoice::light);
  return RUN_ALL_TESTS();
}
