#include "gui/widgets/dialogs.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QListWidget>
#include <QPixmap>
#include <QStyledItemDelegate>
#include <QTabWidget>
#include <QTableView>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "gui/models/facts_model.h"
#include "gui/models/format.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {

QDialog* dialog(const QString& title, const char* name, QWidget* content, QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setObjectName(name);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
  auto* layout = new QVBoxLayout(dialog);
  layout->addWidget(content);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
  layout->addWidget(buttons);
  dialog->resize(860, 560);
  return dialog;
}

class FactsDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (!index.data(FactsModel::DiffersRole).toBool()) return;
    option->font.setBold(true);
    option->backgroundBrush = themeOf(option->palette).tint(Label::origin);
  }
};

QTableView* factsTable(std::vector<FactsModel::Fact> facts, bool single, const char* name) {
  auto* table = new QTableView;
  table->setObjectName(name);
  auto* model = new FactsModel(table);
  model->setFacts(std::move(facts), single);
  table->setModel(model);
  table->setItemDelegate(new FactsDelegate(table));
  table->verticalHeader()->hide();
  table->setShowGrid(false);
  table->setSelectionBehavior(QTableView::SelectRows);
  table->setColumnWidth(0, 250);
  table->setColumnWidth(1, 270);
  table->horizontalHeader()->setStretchLastSection(true);
  return table;
}

}  // namespace

QDialog* makeFactsDialog(const Document& document, QWidget* parent) {
  auto* tabs = new QTabWidget;
  tabs->addTab(factsTable(environmentFacts(document), document.single, "environment"),
               "&Environment");
  tabs->addTab(factsTable(coverageFacts(document), document.single, "coverage"), "&Coverage");
  if (!document.result.notes.empty()) {
    auto* notes = new QTextBrowser;
    for (const std::string& note : document.result.notes) notes->append(text(note));
    tabs->addTab(notes, "&Remarks");
  }
  return dialog("Environment and coverage", "facts", tabs, parent);
}

QDialog* makeShortcutsDialog(const QList<QAction*>& actions, QWidget* parent) {
  auto* browser = new QTextBrowser;
  const Theme& theme = themeOf(browser->palette());
  QString html = "<h3>Keys</h3><table cellpadding='3'>";
  for (const QAction* action : actions) {
    if (action->shortcuts().isEmpty()) continue;
    QStringList keys;
    for (const QKeySequence& key : action->shortcuts())
      keys << key.toString(QKeySequence::NativeText).toHtmlEscaped();
    html += QString("<tr><td><b>%1</b></td><td>%2</td></tr>")
                .arg(keys.join(", "), QString(action->text()).remove('&').toHtmlEscaped());
  }
  html += "<tr><td><b>Left, Right</b></td><td>in the rows: fold, unfold; in the dataflow: to the "
          "producers, to the consumers</td></tr>"
          "<tr><td><b>Enter</b></td><td>in the dataflow: go to the op under the focus</td></tr>"
          "<tr><td><b>O</b></td><td>in the dataflow: walk to where the difference starts</td></tr>"
          "</table><h3>Labels</h3><table cellpadding='3'>";
  for (int i = 0; i < kLabelCount; ++i) {
    QPixmap pixmap(36, 36);
    pixmap.fill(Qt::transparent);
    pixmap.setDevicePixelRatio(2);
    QPainter painter(&pixmap);
    drawGlyph(painter, QRectF(2, 2, 14, 14), Label(i), theme);
    painter.end();
    browser->document()->addResource(QTextDocument::ImageResource, QUrl(QString("label:%1").arg(i)),
                                     pixmap);
    html += QString("<tr><td><img src='label:%1' width='18' height='18'></td><td><b>%2</b></td>"
                    "<td>%3</td></tr>")
                .arg(i)
                .arg(labelText(Label(i)), labelMeaning(Label(i)));
  }
  html += "</table><h3>Search words</h3><p>All words must hold; a plain word looks in the names of "
          "ops and modules; a leading minus turns a word around.</p>"
          "<pre>layer_norm  op:mm  module:h.0  label:origin  dtype:bf16\n"
          "phase:backward  step:3  is:differing  is:kernel  -label:propagated</pre>";
  browser->setHtml(html);
  return dialog("Keys, labels and search words", "shortcuts", browser, parent);
}

QDialog* makeNotesDialog(const std::array<Notes, 2>& notes,
                         const std::function<void(SideName, OpId)>& go, QWidget* parent) {
  auto* list = new QListWidget;
  list->setObjectName("notes");
  for (SideName which : {SideName::a, SideName::b})
    for (const auto& [op, note] : notes[size_t(which)].all()) {
      QString line = QString("%1  (op %2 of %3)")
                         .arg(note.op)
                         .arg(op.value)
                         .arg(which == SideName::a ? "A" : "B");
      if (!note.text.isEmpty()) line += ":  " + note.text;
      auto* item = new QListWidgetItem(line, list);
      item->setData(Qt::UserRole, qint64(op.value));
      item->setData(Qt::UserRole + 1, int(which));
    }
  auto* shown = dialog("Bookmarks and notes", "notesDialog", list, parent);
  QObject::connect(list, &QListWidget::itemActivated, shown, [go, shown](QListWidgetItem* item) {
    go(SideName(item->data(Qt::UserRole + 1).toInt()),
       OpId{item->data(Qt::UserRole).toLongLong()});
    shown->close();
  });
  return shown;
}

}  // namespace ulpscope::gui
