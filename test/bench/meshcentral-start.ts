import { type MeshSetup, setUpMesh } from '../meshcentral/support/mesh-setup.ts'
import { alternate, beside, type Measurement, median } from './measurement.ts'
import { usageOf } from './process-usage.ts'

const ROUNDS = 7

/**
 * How long MeshCentral takes until it serves, and what it then holds in memory: by alternating starts with the same
 * data.
 */
export async function meshStartBench(): Promise<readonly Measurement[]> {
  const options = { domains: { '': { oidc: { groups: { sync: true } } } } }
  const product = await setUpMesh({ ...options, strategy: 'ours' })
  await product.server().stop()
  const peer = await setUpMesh({ ...options, strategy: 'built-in' })
  await peer.server().stop()
  const sizes = new Map<MeshSetup, number[]>([product, peer].map((setup) => [setup, []]))
  // Each alone on the port that both use.
  const startOf = (setup: MeshSetup) => async () => {
    const begun = performance.now()
    await setup.restart()
    const took = performance.now() - begun
    sizes.get(setup)?.push(usageOf(setup.server().pid).residentMegabytes())
    await setup.server().stop()
    return took
  }
  try {
    await startOf(product)()
    await startOf(peer)()
    const took = await alternate(ROUNDS, { ours: startOf(product), peer: startOf(peer) })
    const held = { ours: median(sizes.get(product) ?? []), peer: median(sizes.get(peer) ?? []) }
    return [beside('start', 'ms', took, 'built-in', 'less'), beside('start.rss', 'MB', held, 'built-in', 'less')]
  } finally {
    await product.close()
    await peer.close()
  }
}
