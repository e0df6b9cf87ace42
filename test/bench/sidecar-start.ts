import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { makeCertificates } from '../../fixtures/certificate.ts'
import { startApns } from '../../fixtures/push/apns.ts'
import { startFcm } from '../../fixtures/push/fcm.ts'
import { startBuiltSidecar } from './built-sidecar.ts'
import { endWithBench } from './end-with-bench.ts'
import { alone, beside, type Measurement, median, medians, untilSteady } from './measurement.ts'
import { usageOf } from './process-usage.ts'
import { bareUpstream } from './upstream.ts'

const MOST_STARTS = 12
const PEER = 'bare node:http, which loads no package, reads no settings and opens no database'
/** The smallest server. It prints a line once it is listening. */
const BARE = "require('node:http').createServer().listen(0, '127.0.0.1', () => console.log('listening'))"

/**
 * Measures the built sidecar with both gateways: the time until it is listening, the CPU time until then, and its
 * resident memory once it is logged in to APRS-IS.
 *
 * By profile, half of the time is Node.js resolving and compiling 400 modules, of which 300 are the sidecar's. A fifth
 * is `ajv`, which loads 66 of them and compiles the schema of the configuration, and a tenth the sidecar's own code.
 * The packages of the gateways are loaded after the start.
 */
export async function sidecarStartBench(): Promise<readonly Measurement[]> {
  const certificates = await makeCertificates()
  const [fcm, apns] = await Promise.all([startFcm({ certificates }), startApns({ certificates })])
  const sizes: number[] = []
  const start = async () => {
    const upstream = await bareUpstream()
    const sidecar = await startBuiltSidecar({
      aprsis: { host: '127.0.0.1', port: upstream.port, callsign: 'N0CALL', passcode: 13023 },
      push: { fcm: fcm.settings, apns: apns.settings },
    })
    const { startMs, startCpuMs } = sidecar
    await upstream.client
    sizes.push(sidecar.residentMegabytes())
    await sidecar.close()
    upstream.close()
    return { startMs, startCpuMs }
  }
  try {
    const starts = await untilSteady(MOST_STARTS, 'startMs', { ours: start, peer: startBare })
    return [
      beside('sidecar.start.cpu', 'ms CPU', medians(starts, 'startCpuMs'), PEER, 'less'),
      beside('sidecar.start', 'ms', medians(starts, 'startMs'), PEER, 'less'),
      alone('sidecar.rss', 'MB', median(sizes)),
    ]
  } finally {
    await Promise.all([fcm.close(), apns.close()])
  }
}

async function startBare() {
  const begun = performance.now()
  const child = spawn(process.execPath, ['--eval', BARE], { stdio: ['ignore', 'pipe', 'inherit'] })
  endWithBench(child)
  await once(child.stdout, 'data')
  const figures = { startMs: performance.now() - begun, startCpuMs: usageOf(child.pid).cpuMicroseconds() / 1000 }
  child.kill()
  await once(child, 'exit')
  return figures
}
