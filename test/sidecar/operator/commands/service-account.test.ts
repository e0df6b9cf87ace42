import { chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { unreadableByService } from '../../../../sidecar/operator/commands/service-account.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

/** A group that no account of this machine is in. */
const GID = 61_234

const isRoot = process.getuid?.() === 0
const asRoot = isRoot ? it : it.skip
const unless = isRoot ? '' : ' (skipped: needs root)'

describe('The files that the systemd service can read', () => {
  const folder = temporaryFolder()

  async function file(name: string, mode: number, gid = GID): Promise<string> {
    const path = folder.path(name)
    await writeFile(path, '')
    await chown(path, 0, gid)
    await chmod(path, mode)
    return path
  }
  const settings = (caFile: string) => {
    const { databaseTls, ...settingsWithoutTls } = settingsOf({ aprsis: { callsign: 'N0CALL' } })
    return { ...settingsWithoutTls, databaseTls: { ...databaseTls, caFile } }
  }

  asRoot(`the service can read files of its group, or of all${unless}`, async () => {
    await chmod(folder.path(), 0o755)
    const config = await file('sidecar.json', 0o644, 0)
    expect(await unreadableByService(settings(await file('ca.pem', 0o640)), config, GID)).to.deep.equal([])
  })

  asRoot(`reports files that only root can reach${unless}`, async () => {
    await chmod(folder.path(), 0o755)
    const config = await file('sidecar.json', 0o600)
    await mkdir(folder.path('closed'), { mode: 0o700 })
    const ca = await file('closed/ca.pem', 0o644)
    const problems = await unreadableByService(settings(ca), config, GID)
    expect(problems).to.have.length(2)
    expect(problems[0]).to.match(new RegExp(`^The service.* cannot read ${config}\\. Run chgrp mesh-companion`))
    expect(problems[1]).to.match(new RegExp(`^The service.* cannot read ${ca}\\.`))
  })

  it('checks no file permissions if the group of the systemd service does not exist', async () => {
    expect(await unreadableByService(settings('gone.pem'), 'gone.json', undefined)).to.deep.equal([])
  })
})
