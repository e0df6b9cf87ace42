import { expect } from 'chai'
import fc from 'fast-check'
import { BytesInFlight, type Room } from '../../../../sidecar/api/answers/bytes-in-flight.ts'

describe('Bytes of answers in flight', () => {
  // Shows: sidecar C13.17.
  it('stay within the limits in all and of each client, whatever comes and goes', () => {
    const step = fc.oneof(
      fc.record({ client: fc.constantFrom('a', 'b', 'c'), bytes: fc.nat(60) }),
      fc.record({ release: fc.nat(20) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const inFlight = new BytesInFlight({ inAll: 100, perClient: 50 })
        const rooms: { client: string; bytes: number; room: Room }[] = []
        for (const one of steps) {
          if ('release' in one) {
            const [gone] = rooms.splice(one.release, 1)
            gone?.room.release()
            gone?.room.release()
            continue
          }
          const { client, bytes } = one
          const sum = (of: typeof rooms) => of.reduce((total, entry) => total + entry.bytes, bytes)
          const fits = sum(rooms) <= 100 && sum(rooms.filter((entry) => entry.client === client)) <= 50
          const room = inFlight.take(client, bytes)
          expect(room !== undefined).to.equal(fits)
          if (room) rooms.push({ client, bytes, room })
        }
      }),
    )
  })

  it('may be bounded lower in all for one kind of answer', () => {
    const inFlight = new BytesInFlight({ inAll: 100, perClient: 100 })
    inFlight.take('a', 50)
    expect(inFlight.take('b', 20, 60)).to.equal(undefined)
    expect(inFlight.take('b', 20)).not.to.equal(undefined)
  })
})
