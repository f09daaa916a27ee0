#pragma once

#include "fingerprint/fingerprint.h"
#include "store/bytes.h"

namespace ulpscope {

/// A fingerprint without its digest, losslessly: counts that are 0 take no room, extrema of 32-bit
/// data take four bytes, sums that follow from other fields none, and the sketch's components share
/// one exponent where they are sums of numbers of few bits.
void packFingerprintRest(const Fingerprint& fingerprint, ByteWriter& out);

/// Sets all but the digest. Throws Malformed.
void unpackFingerprintRest(ByteReader& in, Fingerprint& fingerprint);

}  // namespace ulpscope
