import { setImmediate } from 'node:timers/promises'
import { afterAll, expect, vi } from 'vitest'

// Checks that each test file restores global state, because later test files run in the same process, and that Node
// warns of no leak.

const EVENTS = ['SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection', 'warning']
const HANDLES = ['ProcessWrap', 'TCPServerWrap']
/** Globals that tests replace. Others are not checked, because reading some of them loads modules or emits warnings. */
const GLOBALS = [
  'Date',
  'fetch',
  'Headers',
  'Request',
  'Response',
  'setImmediate',
  'setInterval',
  'setTimeout',
]

/** Returns global state by name. */
const readState = (): Map<string, unknown> =>
  new Map([
    ['the working directory', process.cwd()],
    ...Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value] as const),
    ...EVENTS.map((name) => [`listeners to ${name}`, process.listenerCount(name)] as const),
    ...GLOBALS.map((name) => [name, Reflect.get(globalThis, name)] as const),
  ])

/** Returns the resource names of running child processes and servers. */
const openHandles = (): string[] =>
  process
    .getActiveResourcesInfo()
    .filter((name) => HANDLES.includes(name))
    .sort()

/** Warnings of Node about listeners, timers and promises that were forgotten. */
const LEAKS = [
  'MaxListenersExceededWarning',
  'PromiseRejectionHandledWarning',
  'TimeoutNegativeWarning',
  'TimeoutOverflowWarning',
]
const worker = globalThis as { leaks?: (string | undefined)[] }
// Listens once in each process, because the hook below does not run for a file whose tests are all skipped.
if (!worker.leaks) {
  const leaks: (string | undefined)[] = []
  worker.leaks = leaks
  process.on('warning', ({ name, stack }) => void (LEAKS.includes(name) && leaks.push(stack)))
}

const before = { state: readState(), handles: openHandles() }

afterAll(async () => {
  const state = readState()
  const names = new Set([...before.state.keys(), ...state.keys()])
  // Reports only names, because the environment contains secrets.
  const changed = [...names].filter((name) => state.get(name) !== before.state.get(name))
  expect(changed, 'global state that a test did not restore').toEqual([])
  // Waits, because a handle closes slightly later than its server or process.
  await vi.waitFor(() => expect(openHandles(), 'handles that a test left open').toEqual(before.handles), {
    timeout: 60_000,
  })
  await setImmediate() // Node emits warnings one tick late
  expect(worker.leaks?.splice(0), 'warnings of leaks').toEqual([])
})
