import { afterAll, expect, vi } from 'vitest'

// Test files run one after another in the same process, so each must restore global state.

const EVENTS = ['SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection', 'warning']
const HANDLES = ['ProcessWrap', 'TCPServerWrap']
/** Globals that tests replace. Reading some other globals loads modules or emits a warning. */
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

/** Global state, by name. */
const readState = (): Map<string, unknown> =>
  new Map([
    ['the working directory', process.cwd()],
    ...Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value] as const),
    ...EVENTS.map((name) => [`listeners to ${name}`, process.listenerCount(name)] as const),
    ...GLOBALS.map((name) => [name, Reflect.get(globalThis, name)] as const),
  ])

/** Names of open processes and servers. */
const openHandles = (): string[] =>
  process
    .getActiveResourcesInfo()
    .filter((name) => HANDLES.includes(name))
    .sort()

const before = { state: readState(), handles: openHandles() }

afterAll(async () => {
  const state = readState()
  const names = new Set([...before.state.keys(), ...state.keys()])
  // Only the names, because the environment holds secrets.
  const changed = [...names].filter((name) => state.get(name) !== before.state.get(name))
  expect(changed, 'global state that a test did not restore').toEqual([])
  // A handle closes slightly later than its server or process.
  await vi.waitFor(() => expect(openHandles(), 'handles that a test left open').toEqual(before.handles))
})
