import { expect } from 'chai'
import { createLog } from '../../../../../sidecar/log.ts'
import { NO_OPTIONS } from '../../../../../sidecar/messages/devices/device-options.ts'
import type { StationRecord } from '../../../../../sidecar/messages/station-record.ts'
import { StationCopy } from '../../../../../sidecar/store/postgres/stations/station-copy.ts'

const record = (pushToken: string, lastSeenAt = 1): StationRecord => ({
  key: 'N0CALL',
  registeredAt: 1,
  devices: [
    {
      ...{ id: '', platform: 'android', pushToken, tokenDead: false, ackMessages: false, options: NO_OPTIONS },
      ...{ registeredAt: 1, lastSeenAt },
    },
  ],
  icon: null,
  hash: null,
  updatedAt: null,
})

describe('The in-memory registry of an instance', () => {
  let copy: StationCopy
  beforeEach(() => {
    copy = new StationCopy(createLog('silent'))
    copy.replace([], 10)
  })

  const token = () => copy.get('N0CALL')?.devices[0]?.pushToken

  it('the in-memory registry ignores database answers older than its current state', () => {
    copy.take(['N0CALL', record('twelve')], 12)
    copy.take(['N0CALL', record('eleven')], 11)
    expect(token()).to.equal('twelve')
    copy.follow([['N0CALL', record('eleven')]], 11)
    expect(token()).to.equal('twelve')
    copy.follow([['N0CALL', undefined]], 13)
    expect(token()).to.equal(undefined)
    copy.take(['N0CALL', record('twelve')], 12)
    expect(token()).to.equal(undefined)
    expect(copy.countDevices().android).to.equal(0)
  })

  it("keeps a device's unsaved last-seen time until another instance saves a new one", () => {
    copy.take(['N0CALL', record('a', 100)], 11)
    copy.touch('N0CALL', '', 150)
    copy.follow([['N0CALL', record('b', 100)]], 12)
    expect(copy.get('N0CALL')?.devices[0]).to.include({ pushToken: 'b', lastSeenAt: 150 })
    copy.follow([['N0CALL', record('b', 140)]], 13)
    expect(copy.get('N0CALL')?.devices[0]?.lastSeenAt).to.equal(140)
  })

  it('replaces the in-memory registry if the database went back to an earlier state', () => {
    copy.take(['N0CALL', record('twelve')], 12)
    copy.replace([record('five')], 5)
    expect(token()).to.equal('five')
    copy.replace([], 4)
    expect(copy).to.include({ size: 0, seen: 4 })
  })
})
