#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "diff/diff.h"
#include "diff/render/annotations.h"
#include "diff/render/escape.h"
#include "diff/render/phrases.h"
#include "diff/render/render.h"

namespace ulpscope {
namespace {

/// GitHub shows ten annotations of a kind for each step of a job and drops the rest.
constexpr size_t kAnnotations = 10;

}  // namespace

void renderGithub(const DiffResult& result, std::ostream& out, const std::string& root) {
  const bool differs =
      result.verdict == Verdict::numeric || result.verdict == Verdict::structural;
  if (!differs || result.frontier.empty()) {
    const bool agrees = exitStatus(result.verdict) == 0;
    fmt::print(out, "::{} title=ulpscope::{}\n", agrees ? "notice" : "error",
               workflowMessage(verdictText(result)));
    return;
  }
  const auto annotate = [&](const Origin& origin) {
    std::string place;
    if (const auto source = sourceBelow(origin, root)) {
      place = fmt::format("file={},line={},", workflowProperty(source->file), source->line);
    }
    fmt::print(out, "::{} {}title={}::{}\n", annotationLevel(origin), place,
               workflowProperty("ulpscope: " + origin.op), workflowMessage(annotationMessage(result, origin)));
  };
  size_t shown = 0;
  if (result.first) {
    annotate(*result.first);
    ++shown;
  }
  for (const Origin& origin : result.frontier) {
    if (result.first && isSame(origin, *result.first)) continue;
    if (shown == kAnnotations) break;
    annotate(origin);
    ++shown;
  }
}

}  // namespace ulpscope
