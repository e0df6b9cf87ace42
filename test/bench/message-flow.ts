const WORDS = (
  'antenna battery bring call camp car check clear cloud coffee copy drive evening field frequency friend good hear hello hill home ' +
  'hour lake late lunch map meet minutes morning mountain near night noise north park parking power quick rain repeater report river ' +
  'road signal snow soon south station sunset test thanks today tomorrow tower traffic trail valley walk weather west wind with 73'
).split(' ')
const WORDS_EACH = 9
/** Source: APRS Protocol Reference, chapter 14. */
const MAX_TEXT_CHARACTERS = 67

/**
 * Returns a function that creates the lines of `count` different messages to `stations` in turn, or to the first
 * `ofStations` of them. The messages are numbered from `first`.
 */
export function createMessages(stations: readonly string[], first = 0): (count: number, ofStations?: number) => string {
  let index = first
  return (count, ofStations = stations.length) => {
    const lines: string[] = []
    for (const end = index + count; index < end; index += 1) {
      const station = stations[index % Math.min(ofStations, stations.length)] as string
      const number = (index % 90_000) + 1
      lines.push(messageLine(`K${index % 977}ABC-7`, station, textOf(index), number))
    }
    return lines.join('')
  }
}

/** Returns the line of a numbered message, as an APRS-IS server forwards it. */
export function messageLine(from: string, to: string, text: string, number: number): string {
  return `${from}>APRS,TCPIP*,qAC,T2TEST::${to.padEnd(9)}:${text}{${number}\r\n`
}

/**
 * Calls `send` with the number of messages that are due, as evenly as timers allow. `stop` ends it, and returns the
 * number of all messages.
 */
export function flow(perSecond: number, send: (count: number) => void): { stop(): number } {
  const begun = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - begun) / 1000) * perSecond) - sent
    if (due <= 0) return
    sent += due
    send(due)
  }, 1)
  return {
    stop() {
      clearInterval(timer)
      return sent
    },
  }
}

/** Returns a text of usual length with varying words. Equal texts would compress three times as well. */
function textOf(index: number): string {
  let text = String(index)
  // Multiplication by an odd number maps each index to another value, in an order that compression cannot exploit.
  let state = Math.imul(index, 0x9e37_79b1)
  for (let word = 0; word < WORDS_EACH; word += 1) {
    state = Math.imul(state ^ (state >>> 15), 0x85eb_ca6b)
    text += ` ${WORDS[(state >>> 0) % WORDS.length]}`
  }
  return text.slice(0, MAX_TEXT_CHARACTERS)
}
