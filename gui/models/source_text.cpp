#include "gui/models/source_text.h"

#include <QFile>
#include <QStringList>
#include <algorithm>
#include <vector>

#include "gui/models/format.h"

namespace ulpscope::gui {
namespace {

constexpr int kContextLines = 2;
constexpr int kFramesWithSource = 6;
constexpr qint64 kLargestSource = 4 << 20;

QString escaped(const QString& text) { return text.toHtmlEscaped(); }

QString sourceHtml(const Frame& frame) {
  QFile file(text(frame.file));
  if (frame.line <= 0 || file.size() > kLargestSource || !file.open(QIODevice::ReadOnly)) return {};
  QString html;
  for (int number = 1; !file.atEnd() && number <= frame.line + kContextLines; ++number) {
    QString line = QString::fromUtf8(file.readLine());
    if (number < frame.line - kContextLines) continue;
    while (line.endsWith('\n') || line.endsWith('\r')) line.chop(1);
    const QString row = QString("%1  %2").arg(number, 5).arg(escaped(line));
    html += number == frame.line ? "<b>" + row + "</b>\n" : row + "\n";
  }
  return html.isEmpty() ? QString() : "<pre style='margin-left:12px'>" + html + "</pre>";
}

QString framesHtml(const Stack& stack) {
  QString html;
  int shown = 0;
  for (const Frame& frame : stack) {
    html += "<p style='margin:2px'>" + escaped(frameText(frame)) +
            "<br><small>" + escaped(text(frame.file)) + "</small></p>";
    if (shown++ < kFramesWithSource) html += sourceHtml(frame);
  }
  return html;
}

}  // namespace

QString stackHtml(const Document& document, uint32_t pair) {
  QString html;
  QString before;
  for (SideName which : {SideName::a, SideName::b}) {
    const Side& side = document.side(which);
    int shown = 0;
    // The op that decided first: its line is the one to look at.
    const auto all = document.members(document.pairs()[pair], which);
    std::vector<uint32_t> members(all.begin(), all.end());
    const uint32_t decisive = decisiveMember(document, pair);
    if (decisive < members.size())
      std::rotate(members.begin(), members.begin() + decisive, members.begin() + decisive + 1);
    for (uint32_t index : members) {
      const Op& op = side.ops.ops[index];
      const Stack& stack = side.reader->stack(op.stack);
      if (stack.empty()) continue;
      const QString frames = framesHtml(stack);
      const QString title = opFullTitle(side, op);
      if (++shown > 8) break;
      if (which == SideName::b && frames == before) {
        html += "<p>In B: the same lines</p>";
        continue;
      }
      html += QString("<h4>%1%2</h4>")
                  .arg(document.single ? "" : which == SideName::a ? "In A: " : "In B: ",
                       escaped(title));
      html += frames;
      before = frames;
    }
  }
  if (html.isEmpty())
    html = "<p>No stack was recorded for this op.</p>";
  return html;
}

QString kernelHtml(const Document& document, uint32_t pair) {
  QString html;
  for (SideName which : {SideName::a, SideName::b}) {
    const Side& side = document.side(which);
    for (uint32_t index : document.members(document.pairs()[pair], which)) {
      const Op& op = side.ops.ops[index];
      if (!op.provenance) continue;
      const Provenance& origin = side.reader->provenance(op.provenance);
      html += QString("<h4>%1%2</h4><p>%3 original ops, graph %4</p><ol>")
                  .arg(document.single ? "" : which == SideName::a ? "In A: " : "In B: ",
                       escaped(text(origin.kernel)))
                  .arg(origin.sources.size())
                  .arg(escaped(text(origin.graph)));
      for (size_t i = 0; i < origin.sources.size(); ++i) {
        const SourceOp& source = origin.sources[i];
        QString line = "<b>" + escaped(text(source.op)) + "</b>";
        if (!source.module.empty()) line += " in " + escaped(text(source.module));
        if (source.backward) line += ", backward";
        if (!source.stack.empty()) line += "<br><small>" + escaped(frameText(source.stack[0])) + "</small>";
        for (const OutputTie& tie : origin.ties)
          if (tie.source == int(i))
            line += QString("<br><small>its value is in parameter %1 (%2, %3)</small>")
                        .arg(tie.arg)
                        .arg(escaped(text(tie.how)))
                        .arg(double(tie.confidence), 0, 'f', 2);
        html += "<li>" + line + "</li>";
      }
      html += "</ol>";
      if (!origin.code.empty()) html += "<pre>" + escaped(text(origin.code)) + "</pre>";
    }
  }
  return html;
}

}  // namespace ulpscope::gui
