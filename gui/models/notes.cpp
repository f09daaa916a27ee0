#include "gui/models/notes.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

namespace ulpscope::gui {
namespace {
constexpr const char* kSchema = "ulpscope.notes/1";
}

QString Notes::pathFor(const QString& trace) { return trace + ".notes.json"; }

bool Notes::load(const QString& trace) {
  path_ = pathFor(trace);
  notes_.clear();
  problem_.clear();
  readable_ = false;
  QFile file(path_);
  if (trace.isEmpty() || !file.exists()) return readable_ = true;
  if (!file.open(QIODevice::ReadOnly)) {
    problem_ = QString("%1: %2").arg(path_, file.errorString());
    return false;
  }
  QJsonParseError error;
  const QJsonDocument json = QJsonDocument::fromJson(file.readAll(), &error);
  if (error.error != QJsonParseError::NoError || json["schema"].toString() != kSchema) {
    problem_ = QString("%1 is not a file of notes that this version reads; it is left alone")
                   .arg(path_);
    return false;
  }
  for (const QJsonValue& value : json["notes"].toArray()) {
    const OpId op{value["op"].toInteger()};
    if (op) notes_[op] = {value["name"].toString(), value["text"].toString()};
  }
  return readable_ = true;
}

bool Notes::save() {
  if (!readable_) return false;
  QJsonArray list;
  for (const auto& [op, note] : notes_)
    list.append(QJsonObject{{"op", qint64(op.value)}, {"name", note.op}, {"text", note.text}});
  const QByteArray bytes =
      QJsonDocument(QJsonObject{{"schema", kSchema}, {"notes", list}}).toJson();
  QSaveFile file(path_);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) {
    problem_ = QString("the notes can't be saved: %1: %2").arg(path_, file.errorString());
    return false;
  }
  problem_.clear();
  return true;
}

QString Notes::text(OpId op) const {
  const auto at = notes_.find(op);
  return at == notes_.end() ? QString() : at->second.text;
}

void Notes::set(OpId op, const QString& name, const QString& text) { notes_[op] = {name, text}; }

}  // namespace ulpscope::gui
