import { expect } from 'chai'
import type { Sent } from './air.ts'
import type { Phone, Shown } from './phones.ts'

/** Checks the final history of a station. `sent`: all messages that were ever sent to it, by id. */
export function judgeHistory(phone: Phone, history: readonly Shown[], sent: ReadonlyMap<string, Sent>): void {
  const ids = history.map(({ id }) => id)
  expect(new Set(ids).size, `${phone.name} has messages twice`).to.equal(ids.length)
  expect(phone.agreesWith(history), `${phone.name} was shown something else than its history`).to.equal(true)

  const keptIds = new Set(ids)
  const confirmed = [...sent.values()].filter((message) => message.confirmed || phone.hasShown(message.id))
  const lost = (messages: readonly Sent[]) => messages.filter(({ id }) => !keptIds.has(id)).map(({ id }) => id)
  expect(lost(confirmed), `${phone.name} lost what was confirmed`).to.deep.equal([])
  const repeated = [...sent.values()].filter(({ tries }) => tries === Number.POSITIVE_INFINITY)
  expect(lost(repeated), `${phone.name} lacks what was repeated until it was acknowledged`).to.deep.equal([])

  let behind = 0
  let latestFirst = -1
  for (const { id, time, bytes } of history) {
    const message = sent.get(id)
    if (!message) throw new Error(`${phone.name} has ${id}, which nobody sent`)
    expect(bytes.equals(message.text), `${id} is not to the byte what was sent`).to.equal(true)
    expect(time, `${id} has a stamp that had been issued before it was sent`).to.be.greaterThan(message.floor)
    expect(time, `${id} is out of order by its stamp`).to.be.greaterThan(behind)
    // Any of its packets may have arrived first. It is out of order only if all of them preceded the first packet of an
    // earlier message.
    expect(message.lastAt, `${id} stands behind a later message`).to.be.at.least(latestFirst)
    latestFirst = Math.max(latestFirst, message.firstAt)
    behind = time
  }
}
