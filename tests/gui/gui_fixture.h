#pragma once

#include <gtest/gtest.h>

#include <QAbstractItemModel>
#include <QString>
#include <string>

#include "diff/diff.h"
#include "gui/models/document.h"
#include "tests/gui/sample_traces.h"
#include "tests/support/temp_folder.h"

namespace ulpscope::gui {

/// Two sample traces in a folder of their own.
class GuiTest : public ::testing::Test {
 protected:
  void write(const testing::SampleOptions& options = {}) {
    testing::writeSampleA(a(), options);
    testing::writeSampleB(b(), options);
  }
  std::shared_ptr<const Document> compared() {
    return makeDocument(diff(a(), b(), {}), "", {});
  }
  std::string a() const { return folder_.file("a.ulps"); }
  std::string b() const { return folder_.file("b.ulps"); }
  std::string file(const char* name) const { return folder_.file(name); }

 private:
  testing::TempFolder folder_;
};

/// The first pair whose op of A has this name, at or after `from`; kNoPair where there is none.
inline uint32_t pairNamed(const Document& document, const std::string& name, uint32_t from = 0) {
  for (uint32_t i = from; i < document.pairs().size(); ++i)
    for (uint32_t op : document.result.opsA(document.pairs()[i]))
      if (document.result.a.reader->schema(document.result.a.ops.ops[op].schema).name == name)
        return i;
  return kNoPair;
}

}  // namespace ulpscope::gui
