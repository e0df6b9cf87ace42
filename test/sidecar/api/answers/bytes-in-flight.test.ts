import { expect } from 'chai'
import fc from 'fast-check'
import { BytesInFlight, type Reservation } from '../../../../sidecar/api/answers/bytes-in-flight.ts'

describe('The limit on bytes of unread answers', () => {
  // Shows: sidecar C13.17.
  it("the bytes of unread answers never exceed the total limit or a client's limit", () => {
    const step = fc.oneof(
      fc.record({ client: fc.constantFrom('a', 'b', 'c'), bytes: fc.nat(60) }),
      fc.record({ release: fc.nat(20) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const inFlight = new BytesInFlight({ inAll: 100, perClient: 50 })
        const reservations: { client: string; bytes: number; reservation: Reservation }[] = []
        for (const item of steps) {
          if ('release' in item) {
            const [removed] = reservations.splice(item.release, 1)
            removed?.reservation.release()
            removed?.reservation.release()
            continue
          }
          const { client, bytes } = item
          const sum = (list: typeof reservations) => list.reduce((total, entry) => total + entry.bytes, bytes)
          const fits = sum(reservations) <= 100 && sum(reservations.filter((entry) => entry.client === client)) <= 50
          const reservation = inFlight.reserve(client, bytes)
          expect(reservation !== undefined).to.equal(fits)
          if (reservation) reservations.push({ client, bytes, reservation })
        }
      }),
    )
  })

  it('reserve() accepts a lower total limit in bytes for a single answer', () => {
    const inFlight = new BytesInFlight({ inAll: 100, perClient: 100 })
    inFlight.reserve('a', 50)
    expect(inFlight.reserve('b', 20, 60)).to.equal(undefined)
    expect(inFlight.reserve('b', 20)).not.to.equal(undefined)
  })
})
