//! The last six characters of a token: a CRC-32 in base 62.

pub(crate) const ALPHABET: &[u8; 62] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(crate) const CHECKSUM_CHARS: usize = 6;

/// CRC-32 as in ISO 3309 and zlib: reflected, polynomial `0xEDB88320`. Bitwise is fast enough: the
/// input has 57 bytes.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = crc & 1;
            crc >>= 1;
            if carry == 1 {
                crc ^= 0xEDB8_8320;
            }
        }
    }
    !crc
}

/// Six base-62 digits, most significant first; 62^6 is more than 2^32.
pub(crate) fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_CHARS] {
    let mut rest = crc32(bytes) as usize;
    let mut digits = [ALPHABET[0]; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[rest % ALPHABET.len()];
        rest /= ALPHABET.len();
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn the_published_check_value() {
        // "check" of CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms.
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
