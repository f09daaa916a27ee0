#include "gui/widgets/verdict_banner.h"

#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>
#include <cmath>

#include "diff/render/format.h"
#include "gui/models/format.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {

QString word(std::string_view name) {
  return QString::fromUtf8(name.data(), qsizetype(name.size())).replace('_', ' ');
}

QString whereText(const Origin& origin) {
  QStringList parts{QString("step %1").arg(origin.step), word(name(origin.phase))};
  if (!origin.module.empty() || !origin.moduleClass.empty()) {
    QString module = text(origin.module.empty() ? origin.moduleClass : origin.module);
    if (!origin.module.empty() && !origin.moduleClass.empty())
      module += " (" + text(origin.moduleClass) + ")";
    parts << module;
  }
  for (const auto* side : {&origin.a, &origin.b})
    if (*side && !(*side)->stack.empty()) {
      if (const Frame* frame = programFrame((*side)->stack)) parts << ulpscope::gui::frameText(*frame);
      break;
    }
  QString where = parts.join(", ");
  for (const auto& [side, letter] : {std::pair(&origin.a, "A"), std::pair(&origin.b, "B")})
    if (*side && !(*side)->kernel.empty() && origin.ops.size() > 1)
      where += QString(" %1 in %2 inside a kernel that fuses %3 ops")
                   .arg(QChar(0x00B7))
                   .arg(letter)
                   .arg(origin.ops.size());
  return where;
}

/// "torch.compile: off | inductor" for one or two settings, else how many differ.
QString settingsText(const std::vector<EnvironmentDifference>& settings) {
  constexpr size_t kNamed = 2;
  QString words;
  if (settings.empty()) {
    words = "no setting differs";
  } else if (settings.size() > kNamed) {
    words = QString("%1 settings differ").arg(settings.size());
  } else {
    QStringList named;
    for (const EnvironmentDifference& setting : settings) {
      const auto value = [](const std::string& value) {
        const QString shown = text(value).simplified();
        return shown.isEmpty() ? QString("unset") : shown.size() > 24 ? shown.left(23) + QChar(0x2026) : shown;
      };
      named << QString("%1: %2 | %3").arg(text(setting.key), value(setting.a), value(setting.b));
    }
    words = named.join(", ");
  }
  return "<a href='facts'>" + words.toHtmlEscaped() + "</a>";
}

QString titleText(const Origin& origin) {
  const char* kind = origin.label == Label::structural ? "First structural difference"
                     : origin.label == Label::source   ? "First difference, before any op"
                                                       : "First divergent op";
  QString title = QString("%1: <b>%2</b>").arg(kind, text(origin.op).toHtmlEscaped());
  if (origin.label != Label::structural || origin.difference != Difference::missing)
    title += QString(", %1 %2")
                 .arg(origin.operandRole == Role::output ? "output"
                      : origin.operandRole == Role::input ? "input"
                                                          : "argument")
                 .arg(origin.operandIndex);
  QStringList figures{word(name(origin.difference))};
  if (std::isfinite(origin.relativeError))
    figures << errorText(float(origin.relativeError)) + " relative";
  if (std::isfinite(origin.ulp)) figures << "about " + text(magnitude(origin.ulp)) + " ulp";
  title += " (" + figures.join(", ") + ")";
  if (origin.expected) title += ", expected";
  return title;
}

QLabel* label(QWidget* parent, const char* name) {
  auto* label = new QLabel(parent);
  label->setObjectName(name);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextBrowserInteraction);
  label->setFocusPolicy(Qt::ClickFocus);
  return label;
}

}  // namespace

VerdictBanner::VerdictBanner(QWidget* parent) : QFrame(parent) {
  setObjectName("banner");
  title_ = label(this, "bannerTitle");
  where_ = label(this, "bannerWhere");
  explanation_ = label(this, "bannerExplanation");
  more_ = label(this, "bannerMore");
  title_->setFont(scaledFont(font(), 1.25));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(46, 7, 12, 7);
  layout->setSpacing(2);
  for (QLabel* each : {title_, where_, explanation_, more_}) {
    layout->addWidget(each);
    connect(each, &QLabel::linkActivated, this, [this](const QString& link) {
      if (link == "facts") emit factsWanted();
      else emit pairChosen(link.toUInt());
    });
  }
  showMessage("Open a trace to look through it, or two to compare.");
}

void VerdictBanner::setTexts(const QString& title, const QString& where,
                             const QString& explanation, const QString& more) {
  const auto set = [](QLabel* label, const QString& text) {
    label->setText(text);
    label->setVisible(!text.isEmpty());
  };
  set(title_, title);
  set(where_, where);
  set(explanation_, explanation);
  set(more_, more);
  update();
}

QString VerdictBanner::moreText(const Document& document) const {
  const DiffResult& result = document.result;
  QStringList parts;
  if (!document.single) {
    if (result.dominant && result.first && result.dominant->pair != result.first->pair) {
      QString dominant = QString("dominant: <a href='%1'>%2</a>")
                             .arg(result.dominant->pair)
                             .arg(text(result.dominant->op).toHtmlEscaped());
      if (std::isfinite(result.dominant->share))
        dominant += QString(", adds %1 % of the final error").arg(qRound(100 * result.dominant->share));
      parts << dominant;
    }
    const int64_t starts = result.counts.origin + result.counts.structural + result.counts.source;
    if (starts > 1) parts << QString("%L1 differences start on their own").arg(starts);
    if (result.counts.propagated) parts << QString("%L1 ops carry it on").arg(result.counts.propagated);
    if (result.counts.healed) parts << QString("%L1 heal it").arg(result.counts.healed);
    parts << settingsText(result.environment);
    if (result.budgetExceeded) parts << "some stretches are aligned coarsely";
  } else {
    parts << "<a href='facts'>environment and coverage</a>";
  }
  for (SideName which : {SideName::a, SideName::b}) {
    const Side& side = document.side(which);
    if (side.reader && !side.complete)
      parts << QString("%1 is cut short or still being written")
                   .arg(document.single ? "the trace" : which == SideName::a ? "A" : "B");
  }
  return parts.join(QString("  %1  ").arg(QChar(0x00B7)));
}

void VerdictBanner::setDocument(std::shared_ptr<const Document> document) {
  document_ = std::move(document);
  error_ = false;
  if (!document_) return showMessage("Open a trace to look through it, or two to compare.");
  const DiffResult& result = document_->result;
  const QString more = moreText(*document_);
  if (document_->single) {
    setTexts(QString("%L1 ops, %L2 of them compiled kernels")
                 .arg(result.a.ops.ops.size())
                 .arg(result.a.kernels),
             {}, {}, more);
  } else if (result.verdict == Verdict::notComparable) {
    setTexts("The two traces can't be compared", {},
             text(result.notComparableReason).toHtmlEscaped(), more);
  } else if (result.first) {
    setTexts(titleText(*result.first), whereText(*result.first).toHtmlEscaped(),
             text(result.first->explanation).toHtmlEscaped(), more);
  } else if (result.verdict == Verdict::withinTolerance) {
    setTexts(QString("The runs agree within the tolerance: %L1 pairs of ops").arg(result.pairs.size()),
             {}, {}, more);
  } else {
    setTexts(QString("The runs are identical, bit for bit: %L1 pairs of ops").arg(result.pairs.size()),
             {}, {}, more);
  }
}

void VerdictBanner::showMessage(const QString& message) {
  document_.reset();
  error_ = false;
  setTexts(message.toHtmlEscaped(), {}, {}, {});
}

void VerdictBanner::showError(const QString& message) {
  document_.reset();
  error_ = true;
  setTexts("This can't be shown", {}, message.toHtmlEscaped(), {});
}

QString VerdictBanner::title() const { return title_->text(); }
QString VerdictBanner::explanation() const { return explanation_->text(); }

void VerdictBanner::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const Theme& theme = themeOf(palette());
  Label label = Label::opaque;
  if (error_) {
    label = Label::structural;
  } else if (document_ && !document_->single) {
    const DiffResult& result = document_->result;
    label = result.first ? result.first->label
            : result.verdict == Verdict::notComparable ? Label::opaque
            : result.verdict == Verdict::withinTolerance ? Label::within
                                                         : Label::healed;
  }
  p.fillRect(rect(), theme.heading);
  p.fillRect(rect(), theme.tint(label));
  p.fillRect(QRect(0, 0, 5, height()), theme.label(label));
  drawGlyph(p, QRectF(14, title_->geometry().center().y() - 10, 21, 21), label, theme);
}

}  // namespace ulpscope::gui
