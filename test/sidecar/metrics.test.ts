import { expect } from 'chai'
import { COUNTERS, createMetrics, LABELS, type Metrics } from '../../sidecar/metrics.ts'

async function linesOf(metrics: Metrics): Promise<readonly string[]> {
  return (await metrics.expose()).text.split('\n')
}

describe('The metrics of the sidecar', () => {
  // Shows: sidecar O1.8.
  it("counts each combination of a metric's labels, and returns the total count", async () => {
    const metrics = createMetrics()
    metrics.countCase('pushes_refused', { platform: 'ios', reason: 'notification' })
    metrics.countCase('pushes_refused', { platform: 'ios', reason: 'notification' }, 2)
    metrics.countCase('pushes_refused', { reason: 'notification', platform: 'android' })
    expect(metrics.value('pushes_refused')).to.equal(4)
    expect(await linesOf(metrics)).to.include.members([
      'mesh_companion_pushes_refused_total{platform="ios",reason="notification"} 3',
      'mesh_companion_pushes_refused_total{platform="android",reason="notification"} 1',
    ])
  })

  // Shows: sidecar O1.8.
  it('exports every labelled metric at 0 from the start, so that growth is visible', async () => {
    const lines = await linesOf(createMetrics())
    for (const name of Object.keys(COUNTERS)) {
      const shown = lines.filter((line) => line.replace(/\{.*/, '').split(' ')[0] === `mesh_companion_${name}_total`)
      expect(shown.length, name).to.be.above(name in LABELS ? 1 : 0)
      for (const line of shown) expect(line).to.match(/ 0$/)
    }
    expect(lines).to.include('mesh_companion_messages_lost_total{reason="disk_full"} 0')
    expect(lines).to.include('mesh_companion_push_latency_seconds_count{platform="android"} 0')
  })

  it('exports a counter even if its label value was not declared', async () => {
    const metrics = createMetrics()
    metrics.countCase('messages_lost', { reason: 'unheard_of' }, 5)
    metrics.countCase('messages_lost', { reason: 'unheard_of' })
    expect(await linesOf(metrics)).to.include('mesh_companion_messages_lost_total{reason="unheard_of"} 6')
  })

  it('exports the latency of pushes as a histogram for each platform', async () => {
    const metrics = createMetrics()
    metrics.observePushLatency('ios', 2.1)
    metrics.observePushLatency('ios', 400)
    expect(await linesOf(metrics)).to.include.members([
      'mesh_companion_push_latency_seconds_bucket{le="2",platform="ios"} 0',
      'mesh_companion_push_latency_seconds_bucket{le="2.5",platform="ios"} 1',
      'mesh_companion_push_latency_seconds_bucket{le="+Inf",platform="ios"} 2',
      'mesh_companion_push_latency_seconds_count{platform="ios"} 2',
    ])
  })

  it('the push latency histogram includes all pushes up to each scrape', async () => {
    const metrics = createMetrics()
    const shown = 'mesh_companion_push_latency_seconds_count{platform="android"}'
    for (const [more, all] of [
      [2500, 2500],
      [1, 2501],
    ] as const) {
      for (let count = 0; count < more; count += 1) metrics.observePushLatency('android', 1)
      expect(await linesOf(metrics)).to.include(`${shown} ${all}`)
    }
  })
})
