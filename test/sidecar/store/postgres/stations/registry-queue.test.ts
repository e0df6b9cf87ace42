import { expect } from 'chai'
import { StoreError } from '../../../../../sidecar/errors.ts'
import type { RegisterOutcome, Registration } from '../../../../../sidecar/messages/store.ts'
import { openRegistryQueue } from '../../../../../sidecar/store/postgres/stations/registry-queue.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'
import { registration, rejection } from '../../sqlite/temporary-stores.ts'

const LIMITED: RegisterOutcome = { kind: 'limited' }
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('The queue of registry writes', () => {
  /** A queue that records each statement as its keys. Each statement waits for `gate`. */
  function opened({ gate = Promise.resolve(), refuses }: { gate?: Promise<void>; refuses?: string } = {}) {
    const clock = new FakeClock()
    const statements: string[] = []
    const registerAll = async (registrations: readonly Registration[]) => {
      await gate
      const keys = registrations.map(({ key }) => key)
      if (refuses !== undefined && keys.includes(refuses)) throw new Error('One value is unusable.')
      statements.push(keys.join())
      return registrations.map(() => LIMITED)
    }
    const queue = openRegistryQueue({ registerAll, clock })
    return { clock, statements, ...queue, registers: (key: string) => queue.register(registration(key)) }
  }

  it('registers several simultaneous stations in one statement', async () => {
    const { registers, statements } = opened()
    await Promise.all(['A1A', 'B1B', 'C1C'].map(registers))
    expect(statements).to.deep.equal(['A1A,B1B,C1C'])
  })

  // Shows: sidecar P1.15.
  it("a station's registrations and other writes keep their order", async () => {
    const { registers, write, statements } = opened()
    const removed = async () => void statements.push('remove A1A')
    await Promise.all([registers('A1A'), registers('B1B'), write(removed), registers('A1A'), registers('A1A')])
    expect(statements).to.deep.equal(['A1A,B1B', 'remove A1A', 'A1A', 'A1A'])
  })

  it('a statement has at most 100 registrations, or fewer if they have avatars', async () => {
    const { register, registers, statements } = opened()
    const avatar = { icon: '', image: 'a'.repeat(65_000), hash: 'sha' }
    await Promise.all(Array.from({ length: 101 }, (_, n) => registers(`N${n}`)))
    expect(statements.map((keys) => keys.split(',').length)).to.deep.equal([100, 1])
    statements.length = 0
    await Promise.all(Array.from({ length: 13 }, (_, n) => register(registration(`N${n}`, { avatar }))))
    expect(statements.map((keys) => keys.split(',').length)).to.deep.equal([12, 1])
  })

  it('refuses only the registration that the database cannot store', async () => {
    const { registers } = opened({ refuses: 'B1B' })
    const [first, refused, last] = await Promise.allSettled(['A1A', 'B1B', 'C1C'].map(registers))
    expect(first?.status).to.equal('fulfilled')
    expect(last?.status).to.equal('fulfilled')
    expect(refused).to.have.nested.property('reason.code', 'store_fault')
  })

  it('a failed write to the registry does not stop the next write', async () => {
    const { write } = opened()
    const failed = write(() => Promise.reject(new StoreError('disk_full')))
    expect((await rejection(failed)).code).to.equal('disk_full')
    expect(await write(async () => 'done')).to.equal('done')
  })

  // Shows: sidecar P1.16.
  it('refuses registrations with store_overloaded while 10,000 others wait', async () => {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const { registers } = opened({ gate })
    const first = registers('FIRST')
    await turn()
    const waiting = Array.from({ length: 10_000 }, (_, n) => registers(`N${n}`))
    expect((await rejection(registers('N1MORE'))).code).to.equal('store_overloaded')
    open()
    await Promise.all([first, ...waiting])
  })

  it('refuses registrations with store_overloaded if they waited longer than 10 s', async () => {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const { clock, registers, write, statements } = opened({ gate })
    const first = registers('A1A')
    await turn()
    const late = [rejection(registers('B1B')), rejection(write(async () => void statements.push('late')))]
    await clock.advance(10_001)
    open()
    await first
    for (const refused of late) expect((await refused).code).to.equal('store_overloaded')
    expect(statements).to.deep.equal(['A1A'])
  })
})
