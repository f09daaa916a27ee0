#include "gui/workers/load_document.h"

#include <QFile>
#include <QStringList>

#include "diff/diff.h"
#include "diff/render/format.h"

namespace ulpscope::gui {

QString Source::commandLine() const {
  const auto quoted = [](const QString& word) {
    return QString::fromStdString(shellQuoted(word.toStdString()));
  };
  if (single()) return "ulpscope show " + quoted(a);
  QString line = "ulpscope diff " + quoted(a) + " " + quoted(b);
  if (!mapFile.isEmpty()) line += " --map " + quoted(mapFile);
  return line;
}

std::shared_ptr<const Document> loadDocument(const Source& source, JobControl& control) {
  if (source.single())
    return openTrace(source.a.toStdString(), [&](double share) { return control.report(share); });
  constexpr double kDiffShare = 0.85;
  DiffOptions options;
  options.mapFile = source.mapFile.toStdString();
  options.progress = [&](double share) { return control.report(kDiffShare * share); };
  DiffResult result = diff(source.a.toStdString(), source.b.toStdString(), options);
  control.report(kDiffShare);
  return makeDocument(std::move(result), options.mapFile, [&] { return control.keepGoing(); });
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
