import { expect } from 'chai'
import { openSqliteStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { freePort } from '../../../support/host-process.ts'
import { createSidecarFolder, startSidecarProcess } from '../../../support/sidecar-process.ts'
import { rejection, SETTINGS, temporaryStores } from './temporary-stores.ts'

describe('A process that is killed', () => {
  const stores = temporaryStores()

  it('keeps other processes from its file as long as it lives, and no longer', async () => {
    const folder = await createSidecarFolder()
    const aprsis = { callsign: 'N0CALL', host: '127.0.0.1', port: await freePort() }
    const config = await folder.configure({ database: stores.path(), aprsis })
    const sidecar = startSidecarProcess(['--config', config])
    try {
      await sidecar.url()
      const error = await rejection(openSqliteStore(stores.path(), SETTINGS, stores.clock, stores.log))
      expect(error.code).to.equal('database_locked')
      expect(error.remedy).to.include('Stop that process')
    } finally {
      sidecar.kill('SIGKILL')
      await sidecar.ended
      await folder.remove()
    }
    await stores.open()
  })
})
