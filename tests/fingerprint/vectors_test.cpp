// The algorithm does not change without a new kFingerprintVersion: digests, statistics and sketches
// of make_vectors.py, an implementation in Python that shares no code with the library.

#include <cmath>
#include <string_view>

#include "reference.h"

namespace ulpscope::test {
namespace {

struct Vector {
  DType dtype;
  size_t elements;
  std::string_view digest;
  double min;
  double max;
  double sum;
  double l1;
  double sumSquares;
  std::string_view sketchDigest;  // of the 16 float64
};

static_assert(kFingerprintVersion == 1);
// clang-format off
constexpr Vector kVectors[] = {
    {DType::Float32, 1, "82f26bc7f812e8ecf277c24fbbf61951",
     0x1.8882ap+2, 0x1.8882ap+2, 0x1.8882ap+2, 0x1.8882ap+2, 0x1.2ce8265372p+5,
     "75e47584525a0b7493aa78db30643532"},
    {DType::Float32, 7, "07d0b5033d29188903c362bf2fb3f696",
     -0x1.e4ee8cp+2, 0x1.e22eep+2, -0x1.291dc6p+3, 0x1.24f3d18p+5, 0x1.c70a7d2ed506p+7,
     "576a10566155cb8147c9d45f56487481"},
    {DType::Float32, 1000, "a2b5413c38ed796664429f405dcafc53",
     -0x1.ff80c8p+2, 0x1.fe835p+2, -0x1.e361d1p+6, 0x1.ece3210cp+11, 0x1.43eb9b59607bap+14,
     "90bd6fcbefa5cb9816c1c41b3c566b81"},
    {DType::Float32, 70000, "66ce1ceae2480eb84d0366795d7dcba8",
     -0x1.fffd9p+2, 0x1.fff964p+2, -0x1.7874f078p+9, 0x1.1136482f8cp+18, 0x1.6c16ac5611e33p+20,
     "b482aece1aeb2b83fda5085a8bf36883"},
    {DType::Float64, 1, "f4ddd441e1777ec111a21e931e40ba0d",
     0x1.05ac6aaaaaaabp+1, 0x1.05ac6aaaaaaabp+1, 0x1.05ac6aaaaaaabp+1, 0x1.05ac6aaaaaaabp+1, 0x1.0b79059f81c72p+2,
     "17b020b3423b59d6db7b5d9cc6c08b45"},
    {DType::Float64, 7, "82b2fbe37cfc640d60f806e63d58a0e0",
     -0x1.4349b2aaaaaabp+1, 0x1.4174955555555p+1, -0x1.8c27b2aaaaaacp+1, 0x1.869a6caaaaaabp+3, 0x1.947b19f0bd5aap+4,
     "e3408b40dfb1883e4c8124eb7755e41f"},
    {DType::Float64, 1000, "a0a9289f9cd283be0d59276b334a944a",
     -0x1.5500855555555p+1, 0x1.54578aaaaaaabp+1, -0x1.424136p+5, 0x1.48976b5d55556p+10, 0x1.1feddf6be3fc2p+11,
     "550692caf694ce2c450d990b01cc5626"},
    {DType::Float64, 70000, "5512c057f7bbe10d351bb2b9acb3e2d0",
     -0x1.5553b55555555p+1, 0x1.5550ed5555555p+1, -0x1.f5f140a00000bp+7, 0x1.6c48603f65557p+16, 0x1.43a2604c81b2p+17,
     "af14c5f12040f9003d8b2c71490ac74d"},
    {DType::Float16, 1, "9ded6a0ac24bf36d5e39f39ea43e0060",
     0x1.888p+2, 0x1.888p+2, 0x1.888p+2, 0x1.888p+2, 0x1.2ce42p+5,
     "a498aeb1fff119d4efa2b8eaa2a49f77"},
    {DType::Float16, 7, "f4956391ea41d57cc7ebbbb0e314a867",
     -0x1.e5p+2, 0x1.e24p+2, -0x1.292p+3, 0x1.24f8p+5, 0x1.c715b3p+7,
     "fe8b99a1bb536c1fcd184d4fc66490d1"},
    {DType::Float16, 1000, "b07781ad52d19df1740c7eaaca93618c",
     -0x1.ff8p+2, 0x1.fe8p+2, -0x1.e349e4p+6, 0x1.ece22c2p+11, 0x1.43eabee3a132p+14,
     "3a65cdb498968fbf84123d619469eaed"},
    {DType::Float16, 70000, "06c66c203327a4487661748651b5b318",
     -0x1p+3, 0x1p+3, -0x1.7837f68p+9, 0x1.11364a8c58p+18, 0x1.6c16b85bdb4a4p+20,
     "7224417b68306edd0123350ac9d57b95"},
    {DType::BFloat16, 1, "f3f8618663268d069b596e9124a982f6",
     0x1.88p+2, 0x1.88p+2, 0x1.88p+2, 0x1.88p+2, 0x1.2c2p+5,
     "2452121cdc12c6473d1b35c7ade2e0fe"},
    {DType::BFloat16, 7, "8487b2c63a33ef9089be513195b95971",
     -0x1.e4p+2, 0x1.e2p+2, -0x1.27p+3, 0x1.244p+5, 0x1.c5198p+7,
     "dd9352d3d153550f91d43bb48d747ec3"},
    {DType::BFloat16, 1000, "20e32199e23fd11fdf8da198eef591ba",
     -0x1.fep+2, 0x1.fep+2, -0x1.e2187p+6, 0x1.eb9f1e8p+11, 0x1.424f7e4d46cp+14,
     "d37c6b6277ac937e40f843cc6ec73e60"},
    {DType::BFloat16, 70000, "0f603e2f32241e7ab9c3fa60c8231090",
     -0x1.fep+2, 0x1.fep+2, -0x1.781b97fp+9, 0x1.1080a79f08p+18, 0x1.6a440d288a33fp+20,
     "f7f8905a67ef8b971a4bd916807922d0"},
    {DType::Complex64, 1, "f2126c8c5cb2ec74fa6f24be7a1cb028",
     -0x1.18762p+0, 0x1.8882ap+2, 0x1.426518p+2, 0x1.cea028p+2, 0x1.36823b377e2p+5,
     "01d404ed07f4932176b834228ee7cb7f"},
    {DType::Complex64, 7, "17acfe6632d479d6f7900a466e0d62b2",
     -0x1.e4ee8cp+2, 0x1.e22eep+2, 0x1.0130b8p+1, 0x1.dae9ea8p+5, 0x1.506059998319p+8,
     "c315dd7bf55a1f3f2e2b3626342a9b0c"},
    {DType::Complex64, 1000, "2e344359a2b609b354d559dc4f669f4e",
     -0x1.ff80c8p+2, 0x1.ffbaf8p+2, -0x1.4e4f67p+6, 0x1.ec7901acp+12, 0x1.457afecad077p+15,
     "6719ea2f56606a1de7039e85d01f22c3"},
    {DType::Complex64, 70000, "f757e27acab41c5357dd4d3147ca2d63",
     -0x1.ffffbcp+2, 0x1.fffda8p+2, 0x1.8185ae6p+9, 0x1.109b007eap+19, 0x1.6b02cfddb003p+21,
     "194e3e0b029bd60ba67d07d606893b1a"},
    {DType::Int8, 1, "958490fdfb25cf9e56c67cd7bde2aa02",
     -0x1.44p+6, -0x1.44p+6, -0x1.44p+6, 0x1.44p+6, 0x1.9a1p+12,
     "e55d04fcae5de664145c0884523a97d0"},
    {DType::Int8, 7, "cd81017b1982bb6c56a5ff9ce9743a00",
     -0x1.94p+6, 0x1.3cp+6, -0x1.78p+7, 0x1.5ap+8, 0x1.868p+14,
     "d270690ae21d4eab7f1864d49670d8b2"},
    {DType::Int8, 1000, "fb3b128b9b7da87cacae12c35f535630",
     -0x1p+7, 0x1.fcp+6, -0x1.c2ap+11, 0x1.f292p+15, 0x1.49984cp+22,
     "5746a59f7f5874809f93840ac1227757"},
    {DType::Int8, 70000, "d51412a3402bd5a60e42840d22e08ed8",
     -0x1p+7, 0x1.fcp+6, -0x1.3c68p+15, 0x1.10469p+22, 0x1.6ab0b12p+28,
     "3bfd394485f3edc81ea24ecc5deb60b2"},
    {DType::UInt8, 1, "958490fdfb25cf9e56c67cd7bde2aa02",
     0x1.5ep+7, 0x1.5ep+7, 0x1.5ep+7, 0x1.5ep+7, 0x1.de84p+14,
     "9450908c35cd326abd9697a507ad8a91"},
    {DType::UInt8, 7, "cd81017b1982bb6c56a5ff9ce9743a00",
     0x1.3cp+6, 0x1.e8p+7, 0x1.51p+10, 0x1.51p+10, 0x1.12e8p+18,
     "3211834d05685a0a0535641d27fab24f"},
    {DType::UInt8, 1000, "fb3b128b9b7da87cacae12c35f535630",
     0x0p+0, 0x1.fep+7, 0x1.fbebp+16, 0x1.fbebp+16, 0x1.550813p+24,
     "286241fc5d25a03ce040d2806c7d6ec1"},
    {DType::UInt8, 70000, "d51412a3402bd5a60e42840d22e08ed8",
     0x0p+0, 0x1.fep+7, 0x1.107798p+23, 0x1.107798p+23, 0x1.6b54cc48p+30,
     "51c8e61fe402c30de5c0ce45d96ad06b"},
    {DType::Int32, 1, "0a18a60b5a5ee9c9577f2b08c63e6d68",
     0x1.ec7736bcp+30, 0x1.ec7736bcp+30, 0x1.ec7736bcp+30, 0x1.ec7736bcp+30, 0x1.d9ad38f3473dfp+61,
     "897ebf2b1afd4802974f524a2db6c527"},
    {DType::Int32, 7, "5be62f3cc13d6b9adb2858cfef239f65",
     -0x1.ffdaeac4p+30, 0x1.ec7736bcp+30, 0x1.e9328a88p+31, 0x1.5889f75fp+33, 0x1.23cd69457e841p+64,
     "4844af59e4deb279b5fb81f40333ce3a"},
    {DType::Int32, 1000, "08a58bd9c0f6db599987ed52fcc617d8",
     -0x1.fff2061cp+30, 0x1.ffeed84cp+30, -0x1.fea1f1c54p+34, 0x1.ff4ee5db42p+39, 0x1.5b9547cc3c8f6p+70,
     "809ac160acae537564ca4187a6a80f7d"},
    {DType::Int32, 70000, "e06692eb50f4cea7d914ee4c93ad23c7",
     -0x1.fffdff7cp+30, 0x1.fff9b48p+30, -0x1.7072be8668p+39, 0x1.1178c5e9b1cp+46, 0x1.6c29494da12f5p+76,
     "7c68ebf01dfbb981ba0c6c271d06acdc"},
    {DType::Int64, 1, "cf8f93b4a6e8dbeba74293309f0b47fb",
     -0x1.ddf57c684e232p+60, -0x1.ddf57c684e232p+60, -0x1.ddf57c684e232p+60, 0x1.ddf57c684e232p+60, 0x1.be2e5e8207a4dp+121,
     "1b4cff4adfef145f6fc1fcb3f85878ea"},
    {DType::Int64, 7, "fbb15def1b5e4bdda81bfd5426490cb3",
     -0x1.ddf57c684e232p+60, 0x1.b9e279aa86e59p+62, 0x1.d6e23f33e9328p+63, 0x1.36185dd619c4ap+64, 0x1.667670f994d12p+126,
     "5f6608d4d9c331549d8292520c8437ec"},
    {DType::Int64, 1000, "748487244fdbbd7ec12bdfd158fd5f0d",
     -0x1.ff5c1c7954f16p+62, 0x1.fef576c50bd9ep+62, 0x1.2e4f555660afp+67, 0x1.fb1cdf25a8a9bp+71, 0x1.522559887b5bp+134,
     "eaf5a90072f9e93c0c2b1a8f920883b4"},
    {DType::Int64, 70000, "19f33e37b8de2e756364480346de50eb",
     -0x1.fffad66410307p+62, 0x1.fff66b2b8cce2p+62, -0x1.070ab0d91cb88p+65, 0x1.11a9b7d247b67p+78, 0x1.6cfd8b9a826c1p+140,
     "0d0a9c5f990e922e6d523a03c97d95d0"},
};
// clang-format on

uint64_t splitmix64(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

template <typename T>
void append(std::vector<uint8_t>& bytes, T value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

// Rounds to nearest even; `value` is a normal number of float16.
uint16_t toHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits < 0x38800000) {  // subnormal in float16: adding 2^-14 times the spacing rounds it
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof bits);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(magnitude * 0x1p24F)));
  }
  bits += 0xfff + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | ((bits >> 13) - (112U << 10)));
}

std::vector<uint8_t> input(const Vector& vector) {
  std::vector<uint8_t> bytes;
  const size_t components = vector.elements * (vector.dtype == DType::Complex64 ? 2 : 1);
  for (size_t i = 0; i < components; ++i) {
    const uint64_t word = splitmix64(i);
    const double moderate = static_cast<double>(static_cast<int64_t>(word >> 40) - (1 << 23)) /
                            static_cast<double>(1 << 20);
    const auto single = static_cast<float>(moderate);
    uint32_t singleBits;
    std::memcpy(&singleBits, &single, sizeof singleBits);
    switch (vector.dtype) {
      case DType::Float32:
      case DType::Complex64:
        append(bytes, single);
        break;
      case DType::Float64:
        append(bytes, moderate / 3.0);
        break;
      case DType::Float16:
        append(bytes, toHalf(single));
        break;
      case DType::BFloat16:
        append(bytes, static_cast<uint16_t>(singleBits >> 16));
        break;
      case DType::Int8:
      case DType::UInt8:
        append(bytes, static_cast<uint8_t>(word));
        break;
      case DType::Int32:
        append(bytes, static_cast<uint32_t>(word));
        break;
      default:
        append(bytes, word);
    }
  }
  return bytes;
}

TEST(Vectors, AreWhatTheDocumentedAlgorithmGives) {
  for (const Vector& vector : kVectors) {
    SCOPED_TRACE(::testing::Message() << info(vector.dtype).name << " " << vector.elements);
    const Fingerprint got = fingerprintOf(input(vector), vector.dtype);
    EXPECT_EQ(toHex(got.digest), vector.digest);
    EXPECT_EQ(got.statistics.min, vector.min);
    EXPECT_EQ(got.statistics.max, vector.max);
    EXPECT_EQ(got.statistics.sum, vector.sum);
    EXPECT_EQ(got.statistics.l1, vector.l1);
    EXPECT_EQ(got.statistics.sumSquares, vector.sumSquares);
    const Fingerprint ofSketch = fingerprintOf(got.sketch.data(), DType::UInt8, sizeof got.sketch);
    EXPECT_EQ(toHex(ofSketch.digest), vector.sketchDigest);
  }
}

}  // namespace
}  // namespace ulpscope::test
