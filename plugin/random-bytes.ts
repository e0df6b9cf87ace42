import { randomBytes } from 'node:crypto'

const DRAWN_BYTES = 4_096

/**
 * A source of random bytes, each of which it gives out once. They are drawn many at a time: a login needs some on four occasions, and a
 * draw takes 2 µs however few they are.
 */
export function createRandomBytes(): (size: number) => Buffer {
  let drawn = Buffer.alloc(0)
  let given = 0
  return (size) => {
    if (given + size > drawn.length) {
      drawn = randomBytes(Math.max(size, DRAWN_BYTES))
      given = 0
    }
    given += size
    return drawn.subarray(given - size, given)
  }
}
