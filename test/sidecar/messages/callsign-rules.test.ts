import { expect } from 'chai'
import fc from 'fast-check'
import { callsignMatcher, createCallsignRules } from '../../../sidecar/messages/callsign-rules.ts'
import { NO_OPTIONS } from '../../../sidecar/messages/devices/device-options.ts'
import { recordedLog } from '../../support/recorded-log.ts'
import { register, registration, temporaryStores } from '../store/sqlite/temporary-stores.ts'

describe('The callsign rules', () => {
  const stores = temporaryStores()
  const { log, shown } = recordedLog('info')

  async function setUp(reserved: readonly string[]) {
    const store = await stores.open({}, ':memory:')
    await register(store, 'SMSGTE', 'W1AW', 'N0CALL-99')
    const lists = { reserved, blockedSenders: [] }
    const rules = createCallsignRules({ lists, loginCallsigns: ['N0CALL-99'], stations: store.stations, log })
    return { rules, store }
  }

  // Shows: sidecar C13.3.
  it('omits stations with reserved callsigns from the filter, and warns of them', async () => {
    const { rules } = await setUp(['SMSGTE'])
    expect([...rules.activeStations.keys()]).to.deep.equal(['W1AW'])
    expect(rules.activeStations.get('SMSGTE')).to.equal(undefined)
    expect(rules.activeStations.get('N0CALL-99')).to.equal(undefined)
    expect(rules.activeStations.get('W1AW')).to.include({ key: 'W1AW' })
    expect(shown('level', 'event', 'count', 'stations')).to.deep.equal([
      ['warn', 'stations-reserved', 2, ['SMSGTE', 'N0CALL-99']],
    ])
  })

  // Shows: sidecar C17.7, C17.8.
  it('an anySsid device adds all SSIDs of an unreserved callsign to the APRS-IS filter', async () => {
    const { rules, store } = await setUp(['SMSGTE', 'W1AW-9'])
    const anySsid = { options: { ...NO_OPTIONS, anySsid: true } }
    expect(rules.filterNames()).to.deep.equal(['W1AW'])
    for (const key of ['W1AW', 'W1AW-7', 'SMSGTE', 'KD9ABCDE'])
      await store.stations.register(registration(key, anySsid))
    expect(rules.filterNames()).to.deep.equal(['W1AW', 'W1AW-7', 'KD9ABCDE', 'W1AW*'])
    const besides = (addressee: string) => rules.activeStations.besides(addressee)
    expect(besides('W1AW-5')).to.deep.equal(['W1AW', 'W1AW-7'])
    expect(besides('W1AW')).to.deep.equal(['W1AW-7'])
    expect(besides('W1AW-9')).to.deep.equal([])
    expect(besides('SMSGTE-1')).to.deep.equal([])
  })

  it('keeps login callsigns reserved after a change of stations.reserved', async () => {
    const { rules } = await setUp([])
    rules.setLists({ reserved: ['W1AW'], blockedSenders: ['PEST*'] })
    expect(['N0CALL-99', 'W1AW', 'SMSGTE'].map(rules.isReserved)).to.deep.equal([true, true, false])
    expect([...rules.activeStations.keys()]).to.deep.equal(['SMSGTE'])
    expect(['PEST-1', 'W1AW'].map(rules.isBlocked)).to.deep.equal([true, false])
  })

  it('does not activate a station that registers while its callsign becomes reserved', async () => {
    const { rules, store } = await setUp([])
    rules.setLists({ reserved: ['N1CALL'], blockedSenders: [] })
    await register(store, 'N1CALL', 'N2CALL')
    expect([...rules.activeStations.keys()]).to.deep.equal(['SMSGTE', 'W1AW', 'N2CALL'])
    expect(rules.activeStations.get('N1CALL')).to.equal(undefined)
    expect(rules.activeStations.get('N2CALL')?.key).to.equal('N2CALL')
  })
})

describe('A list of callsigns', () => {
  // Shows: sidecar C13.6.
  it('a callsign list ignores letter case, and treats SSID 0 like no SSID', () => {
    const includes = callsignMatcher(['W1AW', 'n0call-7', 'K1ABC-0'])
    for (const call of ['W1AW', 'w1aw', 'W1AW-0', 'N0CALL-7', 'K1ABC']) expect(includes(call), call).to.equal(true)
    for (const call of ['W1AW-1', 'W1AWX', 'N0CALL', 'N0CALL-70', 'K1ABC-1'])
      expect(includes(call), call).to.equal(false)
  })

  // Shows: sidecar C13.6.
  it('a callsign list entry with a final * matches every callsign with that prefix', () => {
    const includes = callsignMatcher(['BLN*', 'W1AW-*'])
    for (const call of ['BLN', 'BLN1', 'blnQ', 'BLN1WX', 'W1AW-5']) expect(includes(call), call).to.equal(true)
    for (const call of ['BL', 'ABLN', 'W1AW', 'W1AWX']) expect(includes(call), call).to.equal(false)
  })

  it('an empty callsign list matches no callsign', () => {
    expect(callsignMatcher([])('W1AW')).to.equal(false)
  })

  it('a callsign list matches exactly the callsigns that one of its entries matches', () => {
    const call = fc.stringMatching(/^[AB][AB1-]{0,4}$/)
    const entry = fc.tuple(call, fc.constantFrom('', '*')).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(entry), call, (entries, request) => {
        expect(callsignMatcher(entries)(request)).to.equal(entries.some((item) => callsignMatcher([item])(request)))
      }),
    )
  })
})
