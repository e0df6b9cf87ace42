import fc from 'fast-check'

/** Texts that often break parsers: line ends, control characters, delimiters, odd numbers and long repetitions. */
const ODD = [
  ...['\0', '\r', '\n', '\r\n', '\x1c', '\x7f', '\x1b[2J', ' ', '\t'],
  ...[':', '>', '{', '}', '*', '/', '-0', '-', ',', '"', '\\', '[', ']', ';', '=', '%00', '..', '::'],
  ...['é', '\u202e', '\ufeff', '\ud83d\ude00', '\\ud800', '1e999', '-1', '0x7f.1', 'null', 'true', '__proto__'],
  ...['a'.repeat(600), '{'.repeat(200), '9'.repeat(400)],
].map((text) => Buffer.from(text))
const HALVES = [Buffer.of(0xff), Buffer.of(0xc3), Buffer.of(0x80), Buffer.of(0xed, 0xa0, 0x80)]

type Change = (bytes: Buffer) => Buffer

/** Position of a change. It is taken modulo the length of the input, so that each change fits every input. */
const place = fc.nat(1_000_000)
const size = fc.integer({ min: 1, max: 12 })

function changes(samples: readonly Buffer[]): fc.Arbitrary<Change> {
  const piece = fc.oneof(fc.constantFrom(...ODD, ...HALVES), fc.uint8Array({ maxLength: 8 }))
  const replace = (position: number, length: number, replacement: Uint8Array): Change => {
    return (bytes) => {
      const start = position % (bytes.length + 1)
      return Buffer.concat([bytes.subarray(0, start), replacement, bytes.subarray(start + length)])
    }
  }
  return fc.oneof(
    fc.tuple(place, piece).map(([position, by]) => replace(position, 0, by)),
    fc.tuple(place, size, piece).map(([position, length, by]) => replace(position, length, by)),
    fc.tuple(place, size).map(([position, length]) => replace(position, length, Buffer.alloc(0))),
    fc.tuple(place, fc.nat(7)).map(([at, bit]): Change => {
      return (bytes) => bytes.map((byte, index) => (index === at % bytes.length ? byte ^ (1 << bit) : byte)) as Buffer
    }),
    fc.tuple(place, fc.integer({ min: 2, max: 40 })).map(([at, times]): Change => {
      return (bytes) => {
        const start = at % (bytes.length + 1)
        const repeated = Array<Buffer>(times).fill(bytes.subarray(start, start + 6))
        return Buffer.concat([bytes.subarray(0, start), ...repeated, bytes.subarray(start)])
      }
    }),
    fc.tuple(place, place, fc.constantFrom(...samples)).map(([at, from, other]): Change => {
      return (bytes) => Buffer.concat([bytes.subarray(0, at % (bytes.length + 1)), other.subarray(from % other.length)])
    }),
  )
}

/** Generates samples with up to six changes each. One input in ten is random bytes instead. */
export function mutated(samples: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const changed = fc
    .tuple(fc.constantFrom(...samples), fc.array(changes(samples), { maxLength: 6 }))
    .map(([sample, steps]) => steps.reduce((bytes, change) => change(bytes), sample))
  const random = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))
  return fc.oneof({ arbitrary: changed, weight: 9 }, { arbitrary: random, weight: 1 })
}
