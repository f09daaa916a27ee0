#include "gui/widgets/name_fitter.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QImage>

namespace ulpscope::gui {
namespace {

/// The longest form of at most `width` letters.
std::string shortened(const QString& name, int width) {
  return withoutMiddleWords(name, [&](const QString& text) { return text.size() <= width; })
      .toStdString();
}

TEST(NameFitter, LeavesOutWholeWordsOfTheMiddle) {
  const QString name = "_scaled_dot_product_flash_attention_for_cpu";
  EXPECT_EQ(shortened(name, 42), "_scaled_dot_product\u2026_attention_for_cpu");
  EXPECT_EQ(shortened(name, 30), "_scaled_dot_product\u2026_for_cpu");
  EXPECT_EQ(shortened(name, 14), "_scaled\u2026_cpu");
  EXPECT_EQ(shortened(name, 5), "");
  EXPECT_EQ(shortened("word", 3), "");
}

TEST(NameFitter, DrawsNothingPastItsBox) {
  NameFitter fitter(QApplication::font());
  const QString name = "cpp_fused_add_arange_embedding_native_layer_norm_native_layer_norm_backward_0";
  QImage image(400, 30, QImage::Format_RGB32);
  for (int width : {1, 30, 80, 150, 300}) {
    image.fill(Qt::white);
    QPainter painter(&image);
    const int taken = fitter.draw(painter, QRect(20, 0, width, 30), name);
    painter.end();
    EXPECT_TRUE(taken <= width || width < 30) << width;
    for (int x = 20 + std::max(width, taken) + 2; x < image.width(); ++x)
      for (int y = 0; y < image.height(); ++y)
        ASSERT_EQ(image.pixel(x, y), qRgb(255, 255, 255)) << width << " at " << x;
  }
}

}  // namespace
}  // namespace ulpscope::gui
