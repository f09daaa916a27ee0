#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>
#include <QTimer>

#include "gui/widgets/export_picture.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/theme.h"

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  QApplication::setApplicationName("ulpscope-view");
  QApplication::setApplicationDisplayName("ulpscope");
  QApplication::setDesktopFileName("ulpscope");
  QApplication::setWindowIcon(QIcon::fromTheme("ulpscope"));

  QCommandLineParser parser;
  parser.setApplicationDescription("Shows a trace, or where two traces part.");
  parser.addHelpOption();
  parser.addPositionalArgument("A", "A trace (.ulps).", "[A]");
  parser.addPositionalArgument("B", "A second trace, to compare with A.", "[B]");
  const QCommandLineOption theme("theme", "auto, light or dark.", "NAME", "auto");
  const QCommandLineOption map("map", "A mapping file (docs/alignment.md).", "FILE");
  const QCommandLineOption picture(
      "picture", "Write what the window shows to FILE (.png or .svg) and end.", "FILE");
  const QCommandLineOption page("page", "Page of the details: values, elements, stack or kernel.",
                                "NAME", "values");
  const QCommandLineOption size("size", "Size of the window.", "WIDTHxHEIGHT", "1280x800");
  // As of `ulpscope diff`.
  const QCommandLineOption rules("rules", "A file of tolerances for some ops.", "FILE");
  const QCommandLineOption noise("noise", "A second run of A: the noise floor.", "FILE");
  const QCommandLineOption rtol("rtol", "Tolerance on the relative error.", "X", "0");
  const QCommandLineOption atol("atol", "Tolerance on the absolute error.", "X", "0");
  const QCommandLineOption ulp("ulp", "Tolerance in ulps.", "X", "0");
  parser.addOptions({theme, map, rules, noise, rtol, atol, ulp, picture, page, size});
  parser.process(application);
  const QStringList paths = parser.positionalArguments();
  const QString choice = parser.value(theme);
  const QStringList choices{"auto", "light", "dark"};
  if (paths.size() > 2 || !choices.contains(choice)) {
    qCritical("%s", paths.size() > 2 ? "give one trace, or two to compare"
                                     : "--theme is auto, light or dark");
    return 2;
  }
  ulpscope::gui::applyTheme(application, ulpscope::gui::ThemeChoice(choices.indexOf(choice)));

  ulpscope::gui::MainWindow window;
  const QStringList sides = parser.value(size).split('x');
  window.resize(std::max(640, sides.value(0).toInt()), std::max(480, sides.value(1).toInt()));
  window.QMainWindow::show();
  if (parser.isSet(picture)) {
    using ulpscope::gui::MainWindow;
    auto* settled = new QTimer(&window);  // what the last signals asked for is laid out by then
    settled->setInterval(100);
    const auto end = [&, settled] {
      if (window.busy()) return;
      settled->stop();
      QString problem;
      const bool written = ulpscope::gui::exportPicture(window, parser.value(picture), &problem,
                                                        window.devicePixelRatio());
      if (!written) qCritical("%s", qPrintable(problem));
      QApplication::exit(written ? 0 : 2);
    };
    QObject::connect(settled, &QTimer::timeout, &window, end);
    QObject::connect(&window, &MainWindow::shown, settled, qOverload<>(&QTimer::start));
    QObject::connect(&window, &MainWindow::failed, settled, qOverload<>(&QTimer::start));
  }
  window.showPage(parser.value(page));
  if (!paths.isEmpty())
    window.open({paths[0], paths.value(1), parser.value(map), parser.value(rules),
                 parser.value(noise), parser.value(rtol).toDouble(), parser.value(atol).toDouble(),
                 parser.value(ulp).toDouble()});
  return QApplication::exec();
}
