import { readCommandLine } from '../../fixtures/command-line.ts'
import { type MeshSetup, setUpMesh } from '../meshcentral/support/mesh-setup.ts'
import { alternate, median } from './measurement.ts'
import { usageOf } from './process-usage.ts'

readCommandLine(
  `Usage: npm run bench:meshcentral

How long the real MeshCentral takes until it serves, and what it then holds in
memory, with the plugin and with its own strategy. Medians of alternating starts
with the same data.`,
  {},
)
const ROUNDS = 7

const started = (setup: MeshSetup) => async () => {
  const begun = performance.now()
  await setup.restart()
  const took = performance.now() - begun
  sizes.get(setup)?.push(usageOf(setup.server().pid).residentMegabytes())
  return took
}
const sizes = new Map<MeshSetup, number[]>()

/** Each side alone on the port that both use. */
async function measure(): Promise<void> {
  const options = { domains: { '': { oidc: { groups: { sync: true } } } } }
  const ours = await setUpMesh({ ...options, strategy: 'ours' })
  await ours.server().stop()
  const peer = await setUpMesh({ ...options, strategy: 'built-in' })
  await peer.server().stop()
  const alone = (setup: MeshSetup) => {
    const start = started(setup)
    sizes.set(setup, [])
    return async () => {
      const took = await start()
      await setup.server().stop()
      return took
    }
  }
  try {
    const [oursAlone, peerAlone] = [alone(ours), alone(peer)]
    await oursAlone()
    await peerAlone()
    const medians = await alternate(ROUNDS, oursAlone, peerAlone)
    const row = (name: string, ms: number, setup: MeshSetup) => {
      const middle = median(sizes.get(setup) ?? [])
      return `${name.padEnd(10)} ${ms.toFixed(0).padStart(6)} ms ${middle.toFixed(0).padStart(5)} MB\n`
    }
    process.stdout.write(row('plugin', medians.ours, ours) + row('built-in', medians.peer, peer))
  } finally {
    await ours.close()
    await peer.close()
  }
}

await measure()
