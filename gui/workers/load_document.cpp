#include "gui/workers/load_document.h"

#include <QFile>
#include <QSaveFile>
#include <QStringList>
#include <sstream>
#include <stdexcept>

#include "diff/diff.h"
#include "diff/render/format.h"
#include "diff/render/render.h"

namespace ulpscope::gui {

QString Source::commandLine() const {
  const auto quoted = [](const QString& word) {
    return QString::fromStdString(shellQuoted(word.toStdString()));
  };
  if (single()) return "ulpscope show " + quoted(a);
  QString line = "ulpscope diff " + quoted(a) + " " + quoted(b);
  const auto file = [&](const char* flag, const QString& path) {
    if (!path.isEmpty()) line += QString(" %1 %2").arg(flag, quoted(path));
  };
  const auto number = [&](const char* flag, double value) {
    if (value != 0) line += QString(" %1 %2").arg(flag).arg(value);
  };
  file("--map", mapFile);
  file("--rules", rulesFile);
  file("--noise", noiseFile);
  number("--rtol", rtol);
  number("--atol", atol);
  number("--ulp", ulp);
  return line;
}

namespace {

DiffResult compare(const Source& source, JobControl& control, double share) {
  DiffOptions options;
  options.mapFile = source.mapFile.toStdString();
  options.rulesFile = source.rulesFile.toStdString();
  options.noiseFile = source.noiseFile.toStdString();
  options.tolerance = {source.rtol, source.atol, source.ulp};
  options.progress = [&](double done) { return control.report(share * done); };
  return diff(source.a.toStdString(), source.b.toStdString(), options);
}

}  // namespace

std::shared_ptr<const Document> loadDocument(const Source& source, JobControl& control) {
  if (source.single())
    return openTrace(source.a.toStdString(), [&](double share) { return control.report(share); });
  constexpr double kDiffShare = 0.85;
  DiffResult result = compare(source, control, kDiffShare);
  control.report(kDiffShare);
  return makeDocument(std::move(result), source.mapFile.toStdString(),
                      [&] { return control.keepGoing(); });
}

void writeReport(const Source& source, const QString& path, JobControl& control) {
  constexpr double kDiffShare = 0.8;
  const DiffResult result = compare(source, control, kDiffShare);
  std::ostringstream page;
  renderHtml(result, page);
  if (!control.report(0.95)) throw Cancelled{};
  const std::string text = page.str();
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(text.data(), qint64(text.size())) < 0 ||
      !file.commit())
    throw std::runtime_error(QString("the report can't be written: %1: %2")
                                 .arg(path, file.errorString())
                                 .toStdString());
}

bool appendMapping(const QString& path, const std::vector<OpId>& a, const std::vector<OpId>& b,
                   const QString& comment, QString* problem) {
  const auto list = [](const std::vector<OpId>& ids) {
    QStringList words;
    for (OpId id : ids) words << QString::number(id.value);
    return "[" + words.join(", ") + "]";
  };
  QFile file(path);
  QString entry = file.exists() ? "\n" : "# Pairs of ops made by hand; see docs/alignment.md.\n\n";
  entry += QString("# %1\n[[op]]\na = %2\nb = %3\n")
               .arg(QString(comment).replace('\n', ' '), list(a), list(b));
  const QByteArray bytes = entry.toUtf8();
  if (!file.open(QIODevice::WriteOnly | QIODevice::Append) || file.write(bytes) != bytes.size()) {
    *problem = QString("the mapping file can't be written: %1: %2").arg(path, file.errorString());
    return false;
  }
  return true;
}

}  // namespace ulpscope::gui
