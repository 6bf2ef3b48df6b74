import { afterAll, expect, vi } from 'vitest'

// Test files run in the same process, one after another: each leaves there what it found.

const EVENTS = ['SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection', 'warning']
const HANDLES = ['ProcessWrap', 'TCPServerWrap']
/** Only what a test may replace: to read some of the others loads or warns. */
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

/** By name. */
const look = (): Map<string, unknown> =>
  new Map([
    ['the working directory', process.cwd()],
    ...Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value] as const),
    ...EVENTS.map((name) => [`listeners to ${name}`, process.listenerCount(name)] as const),
    ...GLOBALS.map((name) => [name, Reflect.get(globalThis, name)] as const),
  ])

/** Processes and servers. */
const opened = (): string[] =>
  process
    .getActiveResourcesInfo()
    .filter((name) => HANDLES.includes(name))
    .sort()

const before = { all: look(), opened: opened() }

afterAll(async () => {
  const all = look()
  const names = new Set([...before.all.keys(), ...all.keys()])
  // Their names only: the environment has secrets.
  const changed = [...names].filter((name) => all.get(name) !== before.all.get(name))
  expect(changed, 'what a test has changed for good').toEqual([])
  // A handle is open a little longer than what it belongs to.
  await vi.waitFor(() => expect(opened(), 'what a test has left open').toEqual(before.opened))
})
