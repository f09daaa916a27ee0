#include "gui/models/dataflow.h"
#include "gui/models/error_series.h"
#include "gui/models/facts_model.h"
#include "gui/models/format.h"
#include "gui/models/operand_match.h"
#include "gui/models/selection.h"
#include "tests/gui/gui_fixture.h"

#include <QAbstractItemModelTester>

namespace ulpscope::gui {
namespace {

class DocumentTest : public GuiTest {};

TEST_F(DocumentTest, OpensOnTheKnownOrigin) {
  write();
  const auto document = compared();
  ASSERT_TRUE(document->result.first);
  EXPECT_EQ(document->result.first->op, testing::kSampleOrigin);
  const Pair& pair = document->pairs()[document->opening()];
  EXPECT_EQ(pair.label, Label::origin);
  EXPECT_EQ(pair.countA, 2);  // gelu and add
  EXPECT_EQ(pair.countB, 1);  // the kernel
}

TEST_F(DocumentTest, FindsPairsAndConsumersOfOps) {
  write({.fused = false});
  const auto document = compared();
  for (SideName which : {SideName::a, SideName::b}) {
    const auto& ops = document->side(which).ops.ops;
    for (uint32_t i = 0; i < ops.size(); ++i) {
      const uint32_t pair = document->pairOf(which, ops[i].id);
      ASSERT_NE(pair, kNoPair);
      const auto members = document->members(document->pairs()[pair], which);
      EXPECT_NE(std::find(members.begin(), members.end(), i), members.end());
      for (uint32_t consumer : document->consumersOf(which, i)) EXPECT_GT(consumer, i);
    }
    EXPECT_EQ(document->pairOf(which, OpId{1'000'000}), kNoPair);
    EXPECT_EQ(document->pairOf(which, OpId{}), kNoPair);
  }
  // embedding's result is read by block 0's layer norm and by its residual add.
  const uint32_t embedding = pairNamed(*document, "aten::embedding");
  const auto readers = document->consumersOf(
      SideName::a, document->result.opsA(document->pairs()[embedding])[0]);
  EXPECT_EQ(readers.size(), 2U);
}

TEST_F(DocumentTest, FoldsIntoContiguousStretches) {
  write({.extraOp = true});
  const auto document = compared();
  const FoldTree& tree = document->tree;
  ASSERT_EQ(tree.nodeOfPair.size(), document->pairs().size());
  EXPECT_EQ(tree.nodes[0].end, document->pairs().size());
  std::vector<uint32_t> starts;
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const FoldNode& node = tree.nodes[i];
    const FoldNode& parent = tree.nodes[node.parent];
    EXPECT_LT(node.parent, i);
    EXPECT_LT(node.first, node.end);
    EXPECT_GE(node.first, parent.first);
    EXPECT_LE(node.end, parent.end);
    EXPECT_EQ(node.depth, parent.depth + 1);
    if (node.kind == FoldKind::step) starts.push_back(node.first);
  }
  EXPECT_EQ(starts.size(), 2U) << "an op of B alone must not tear a step apart";
  for (uint32_t i = 0; i < document->pairs().size(); ++i) {
    const FoldNode& node = tree.nodes[tree.nodeOfPair[i]];
    EXPECT_TRUE(node.first <= i && i < node.end);
  }
  uint32_t sum = 0;
  for (uint32_t count : tree.nodes[0].labels) sum += count;
  EXPECT_EQ(sum, document->pairs().size());
}

TEST_F(DocumentTest, PlacesBackwardOpsInTheirModules) {
  write({.fused = false});
  const auto document = compared();
  const FoldTree& tree = document->tree;
  const uint32_t loss = pairNamed(*document, "aten::nll_loss_forward");
  bool found = false;
  for (uint32_t i = loss + 1; i < document->pairs().size() && !found; ++i)
    found = placeText(tree, tree.nodeOfPair[i]) ==
            QString::fromUtf8("step 0 › backward › transformer.h.1.mlp.act");
  EXPECT_TRUE(found);
}

TEST_F(DocumentTest, ATraceAloneHasItsOpsInOrder) {
  write();
  const auto document = openTrace(a(), {});
  EXPECT_TRUE(document->single);
  EXPECT_EQ(document->pairs().size(), document->result.a.ops.ops.size());
  EXPECT_EQ(document->opening(), 0U);
  EXPECT_GT(document->pairs().size(), 40U);
}

TEST_F(DocumentTest, FlowShowsBothSidesAndWhatDiffers) {
  write({.fused = false});
  const auto document = compared();
  const uint32_t origin = document->opening();
  const Flow flow = flowAround(*document, origin);
  ASSERT_EQ(flow.producers.size(), 1U);
  EXPECT_EQ(flow.producers[0].title, "addmm");
  EXPECT_EQ(flow.producers[0].equality, Equality::equal);
  EXPECT_TRUE(flow.producers[0].onA && flow.producers[0].onB);
  ASSERT_FALSE(flow.consumers.empty());
  EXPECT_EQ(flow.consumers[0].title, "add");
  EXPECT_EQ(flow.consumers[0].equality, Equality::unequal);
}

TEST_F(DocumentTest, WalksFromAnyPropagatedOpToTheOrigin) {
  write({.steps = 1, .fused = false});
  const auto document = compared();
  int walked = 0;
  for (uint32_t i = 0; i < document->pairs().size(); ++i) {
    if (document->pairs()[i].label != Label::propagated) continue;
    const auto way = walkToOrigin(*document, i);
    ASSERT_FALSE(way.empty()) << i;
    EXPECT_EQ(way.back(), document->opening()) << i;
    ++walked;
  }
  EXPECT_GT(walked, 5);
  EXPECT_TRUE(walkToOrigin(*document, 0).empty());
}

TEST_F(DocumentTest, BinsCoverTheRunAndKeepWhatMatters) {
  write();
  const auto document = compared();
  const uint32_t count = uint32_t(document->pairs().size());
  for (uint32_t wanted : {1U, 7U, count, 10 * count}) {
    const auto bins = binErrors(*document, 0, count, wanted);
    ASSERT_EQ(bins.size(), std::min(wanted, count));
    EXPECT_EQ(bins.front().first, 0U);
    EXPECT_EQ(bins.back().end, count);
    bool origin = false;
    for (size_t i = 0; i < bins.size(); ++i) {
      EXPECT_LT(bins[i].first, bins[i].end);
      if (i != 0) {
        EXPECT_EQ(bins[i].first, bins[i - 1].end);
      }
      origin = origin || bins[i].label == Label::origin;
    }
    EXPECT_TRUE(origin);
  }
  EXPECT_TRUE(binErrors(*document, 5, 5, 10).empty());
}

TEST_F(DocumentTest, MatchesAKernelsOutputsByTheirTies) {
  write();
  const auto document = compared();
  int written = 0;
  for (const OperandMatch& match :
       matchOperands(*document, document->pairs()[document->opening()])) {
    if (!match.written) continue;
    ++written;
    ASSERT_GE(match.a, 0);
    ASSERT_GE(match.b, 0);
    EXPECT_EQ(match.equality, Equality::unequal);
  }
  EXPECT_EQ(written, 2);
}

TEST_F(DocumentTest, FactsPutWhatDiffersFirst) {
  write();
  const auto document = compared();
  const auto facts = environmentFacts(*document);
  ASSERT_GE(facts.size(), 4U);
  EXPECT_EQ(facts[0].key, "torch.compile");
  EXPECT_EQ(facts[0].a, "off");
  EXPECT_EQ(facts[0].b, "inductor");
  EXPECT_TRUE(facts[0].differs);
  EXPECT_FALSE(facts[1].differs);
  FactsModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setFacts(coverageFacts(*document), false);
  EXPECT_EQ(model.index(0, 1).data().toString(), "complete");
  EXPECT_EQ(model.columnCount(), 3);
}

TEST_F(DocumentTest, SelectionStepsThroughStartsAndBack) {
  write();
  const auto document = compared();
  Selection selection;
  std::vector<uint32_t> seen;
  QObject::connect(&selection, &Selection::chosen, [&](uint32_t pair, int) { seen.push_back(pair); });
  selection.setDocument(document, false);
  ASSERT_EQ(seen, std::vector<uint32_t>{document->opening()});
  selection.choose(0);
  selection.nextStart();
  EXPECT_EQ(selection.pair(), document->opening());
  EXPECT_EQ(selection.startIndex(), 0);
  selection.back();
  EXPECT_EQ(selection.pair(), 0U);
  selection.forward();
  EXPECT_EQ(selection.pair(), document->opening());
  selection.nextDifference();
  EXPECT_GT(selection.pair(), document->opening());
  selection.previousStart();
  EXPECT_EQ(selection.pair(), document->opening());
  selection.choose(uint32_t(document->pairs().size()));  // out of range: nothing happens
  EXPECT_EQ(selection.pair(), document->opening());
  // A document that is made again keeps the chosen op.
  selection.choose(3);
  selection.setDocument(compared(), true);
  EXPECT_EQ(selection.pair(), 3U);
}

}  // namespace
}  // namespace ulpscope::gui
