#include <QFile>

#include "gui/models/notes.h"
#include "tests/gui/gui_fixture.h"

namespace ulpscope::gui {
namespace {

class NotesTest : public GuiTest {
 protected:
  QString trace() const { return QString::fromStdString(a()); }
};

TEST_F(NotesTest, ComeBackAfterSaving) {
  Notes notes;
  ASSERT_TRUE(notes.load(trace()));
  EXPECT_TRUE(notes.all().empty());
  notes.set(OpId{18}, "gelu", "starts here; \"tanh\" form?");
  notes.set(OpId{7}, "addmm", {});
  ASSERT_TRUE(notes.save());
  EXPECT_TRUE(QFile::exists(trace() + ".notes.json"));
  Notes again;
  ASSERT_TRUE(again.load(trace()));
  EXPECT_EQ(again.all().size(), 2U);
  EXPECT_EQ(again.text(OpId{18}), "starts here; \"tanh\" form?");
  EXPECT_TRUE(again.has(OpId{7}));
  again.remove(OpId{7});
  ASSERT_TRUE(again.save());
  ASSERT_TRUE(notes.load(trace()));
  EXPECT_FALSE(notes.has(OpId{7}));
}

TEST_F(NotesTest, LeaveFilesAloneThatTheyCannotRead) {
  for (const char* content : {"", "{", "[1, 2]", R"({"schema": "ulpscope.notes/99", "notes": []})"}) {
    QFile file(Notes::pathFor(trace()));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(content);
    file.close();
    Notes notes;
    EXPECT_FALSE(notes.load(trace())) << content;
    EXPECT_TRUE(notes.problem().contains("notes.json"));
    notes.set(OpId{1}, "add", "mine");
    EXPECT_FALSE(notes.save());
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_EQ(file.readAll(), content);
  }
}

TEST_F(NotesTest, SkipEntriesWithoutAnOp) {
  QFile file(Notes::pathFor(trace()));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(R"({"schema": "ulpscope.notes/1", "notes": [{"text": "x"}, 3, {"op": 5, "text": "y"}]})");
  file.close();
  Notes notes;
  ASSERT_TRUE(notes.load(trace()));
  EXPECT_EQ(notes.all().size(), 1U);
  EXPECT_EQ(notes.text(OpId{5}), "y");
}

}  // namespace
}  // namespace ulpscope::gui
