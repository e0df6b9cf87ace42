/**
 * Returns the SHA-256 of a text's UTF-8 bytes in hex (FIPS 180-4). Does not use Web Crypto, because React Native lacks
 * it, and browsers lack it over plain HTTP.
 */
export function sha256(text: string): string {
  const state = Uint32Array.from(PRIMES.slice(0, 8), (prime) => fractionBits(prime ** (1 / 2)))
  const schedule = new Uint32Array(64)
  const blocks = padded(new TextEncoder().encode(text))
  for (let start = 0; start < blocks.byteLength; start += 64) {
    for (let i = 0; i < 64; i++) schedule[i] = i < 16 ? blocks.getUint32(start + i * 4) : extended(schedule, i)
    compress(state, schedule)
  }
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

const PRIMES = Array.from({ length: 312 }, (_, n) => n).filter((n) => n > 1 && !hasDivisor(n))
const ROUND_CONSTANTS = PRIMES.map((prime) => fractionBits(Math.cbrt(prime)))

function hasDivisor(n: number): boolean {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return true
  return false
}

/** Returns the first 32 bits after the binary point of `value`. */
function fractionBits(value: number): number {
  return ((value % 1) * 2 ** 32) >>> 0
}

/** Appends the bit 1, zeros and the text's length in bits. The result is a multiple of 64 bytes long. */
function padded(bytes: Uint8Array): DataView {
  const view = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64))
  bytes.forEach((byte, i) => {
    view.setUint8(i, byte)
  })
  view.setUint8(bytes.length, 0x80)
  view.setUint32(view.byteLength - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(view.byteLength - 4, (bytes.length * 8) >>> 0)
  return view
}

function extended(schedule: Uint32Array, i: number): number {
  const word = (back: number) => schedule[i - back] ?? 0
  const small0 = rotated(word(15), 7) ^ rotated(word(15), 18) ^ (word(15) >>> 3)
  const small1 = rotated(word(2), 17) ^ rotated(word(2), 19) ^ (word(2) >>> 10)
  return word(16) + small0 + word(7) + small1
}

function compress(state: Uint32Array, schedule: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let i = 0; i < 64; i++) {
    const big1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const big0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const first = (h + big1 + ((e & f) ^ (~e & g)) + (ROUND_CONSTANTS[i] ?? 0) + (schedule[i] ?? 0)) | 0
    const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word
}

function rotated(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}
