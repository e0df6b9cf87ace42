import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { pluginLines } from './support/auth-log.ts'
import { CLIENT, type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import { isApp, signIn } from './support/session.ts'

const NEW = 'the-next-client-secret-of-the-tests-of-meshcentral'

describe("a client secret in a file in MeshCentral's data folder", () => {
  let setup: MeshSetup
  afterEach(() => setup.close())

  // Shows: plugin 4.3.
  it('logs the path of a missing secret file, and reads a rotated file without restart', async () => {
    const client = { client_secret: undefined, client_secret_file: 'oidc-secret' }
    const options = { domains: { '': { oidc: { client } } } }
    setup = await setUpMesh(options)
    const file = join(setup.data.path, 'oidc-secret')
    const missing = (await pluginLines(setup)).find(({ event }) => event === 'configuration-error')
    expect(missing?.message).to.include('client.client_secret_file').and.include(file)

    await setup.restart(options, () => writeFile(file, `${CLIENT.client_secret}\n`))
    const canSignIn = async () => isApp(await signIn(setup, setup.browser(), setup.person()))
    expect(await canSignIn()).to.equal(true)
    await writeFile(file, NEW)
    await setup.register({ client_secret: NEW })
    expect(await canSignIn()).to.equal(true)
    const lines = await pluginLines(setup)
    expect(lines.filter(({ event }) => event === 'client-secret-reloaded')).to.have.length(1)
    for (const secret of [CLIENT.client_secret, NEW]) expect(JSON.stringify(lines)).to.not.include(secret)
  })
})
