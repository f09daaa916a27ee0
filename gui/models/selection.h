#pragma once

#include <QObject>
#include <memory>
#include <vector>

#include "gui/models/document.h"

namespace ulpscope::gui {

/// Which pair is chosen, and the way there: one place that all views follow.
class Selection : public QObject {
  Q_OBJECT

 public:
  explicit Selection(QObject* parent = nullptr);

  /// A new document: its opening pair is chosen. With `keep`, the op that was chosen before, where
  /// the new document has it (a trace that grew, a diff made again).
  void setDocument(std::shared_ptr<const Document> document, bool keep);
  const std::shared_ptr<const Document>& document() const { return document_; }
  uint32_t pair() const { return pair_; }

  /// `line` of a group; -1: the one that decided.
  void choose(uint32_t pair, int line = -1);
  void back();
  void forward();
  bool canGoBack() const { return at_ > 0; }
  bool canGoForward() const { return at_ + 1 < way_.size(); }

  /// Places where a difference starts, ascending.
  const std::vector<uint32_t>& starts() const { return starts_; }
  void nextStart();
  void previousStart();
  void firstStart();
  void nextDifference();
  void previousDifference();
  /// Goes up the dataflow by one op that carries the difference; false where there is none.
  bool toProducer();
  /// Goes all the way up; the number of ops walked.
  int toOrigin();
  int startIndex() const;  ///< of the chosen pair in starts(); -1 where it is none of them

 signals:
  void chosen(uint32_t pair, int line);

 private:
  void show(uint32_t pair, int line);

  std::shared_ptr<const Document> document_;
  std::vector<uint32_t> starts_;
  std::vector<uint32_t> way_;
  size_t at_ = 0;
  uint32_t pair_ = kNoPair;
};

}  // namespace ulpscope::gui
