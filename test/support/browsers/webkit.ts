import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { freePort } from '../../../fixtures/free-port.ts'
import { until } from '../until.ts'
import { ANSWER_LIMIT_MS, type BrowserDriver, type Tab } from './driver.ts'

export const WEBKIT_DRIVER = '/usr/bin/WebKitWebDriver'
export const X_SERVER = '/usr/bin/Xvfb'

/**
 * Time limit of a read, in milliseconds. During a navigation, WebKitGTK sometimes never answers a read, so it is
 * repeated.
 */
const LOST_MS = 2_000

/** Drives WebKitGTK through its WebDriver, with a virtual display. Source: https://www.w3.org/TR/webdriver2/ */
export async function startWebKit(): Promise<BrowserDriver> {
  const children: ChildProcess[] = []
  const close = async () => {
    for (const child of children.reverse()) {
      const ended = once(child, 'close')
      child.kill()
      await ended
    }
  }
  try {
    const screen = spawn(X_SERVER, ['-displayfd', '3', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    })
    children.push(screen)
    const displayPipe = screen.stdio[3] as NodeJS.ReadableStream
    const [display] = (await once(displayPipe, 'data')) as [Buffer]
    const port = await freePort()
    const DISPLAY = `:${String(display).trim()}`
    children.push(spawn(WEBKIT_DRIVER, [`--port=${port}`], { env: { ...process.env, DISPLAY }, stdio: 'ignore' }))
    const driver = `http://127.0.0.1:${port}`
    await until('the driver of WebKitGTK', () => ask(driver, 'GET', '/status').catch(() => undefined))
    return { person: () => openWindow(driver), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens a new browser window with separate cookies. */
async function openWindow(driver: string) {
  const binary = `/usr/lib/${libraryFolder()}/MiniBrowser`
  const { sessionId } = await ask<{ sessionId: string }>(driver, 'POST', '/session', {
    capabilities: {
      alwaysMatch: {
        acceptInsecureCerts: true,
        pageLoadStrategy: 'none',
        'webkitgtk:browserOptions': { binary, args: ['--automation'] },
      },
    },
  })
  const path = `/session/${sessionId}`
  // A WebDriver command applies to the tab that was selected last, so commands run one after the other.
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Answer>(order: () => Promise<Answer>): Promise<Answer> => {
    const done = last.then(order, order)
    last = done
    return done
  }
  let isFirst = true
  const newHandle = () =>
    isFirst
      ? ask<string>(driver, 'GET', `${path}/window`)
      : ask<{ handle: string }>(driver, 'POST', `${path}/window/new`, { type: 'tab' }).then(({ handle }) => handle)
  return {
    async newTab(): Promise<Tab> {
      const handle = await inTurn(newHandle)
      isFirst = false
      const order = <Answer>(command: string, body: object, limitMs?: number) =>
        inTurn(async () => {
          await ask(driver, 'POST', `${path}/window`, { handle }, limitMs)
          return ask<Answer>(driver, 'POST', path + command, body, limitMs)
        })
      return {
        goTo: (url) => order('/url', { url }),
        read: (expression) => order('/execute/sync', { script: `return (${expression})`, args: [] }, LOST_MS),
      }
    },
    close: () => inTurn(() => ask<void>(driver, 'DELETE', path)),
  }
}

function libraryFolder(): string {
  for (const machine of readdirSync('/usr/lib')) {
    if (!machine.endsWith('-linux-gnu')) continue
    const library = readdirSync(`/usr/lib/${machine}`).find((name) => name.startsWith('webkit2gtk-4.1'))
    if (library) return `${machine}/${library}`
  }
  throw new Error('There is no MiniBrowser of WebKitGTK.')
}

async function ask<Answer>(
  driver: string,
  method: string,
  path: string,
  body?: object,
  limitMs = ANSWER_LIMIT_MS,
): Promise<Answer> {
  const answer = await fetch(driver + path, {
    method,
    signal: AbortSignal.timeout(limitMs),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { value } = (await answer.json()) as { value: Answer }
  if (!answer.ok) throw new Error(`WebKitGTK: ${method} ${path}: ${JSON.stringify(value)}`)
  return value
}
