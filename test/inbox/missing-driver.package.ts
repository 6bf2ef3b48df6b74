import { expect, it } from 'vitest'
import { startNode } from '../helpers/process.ts'
import { root } from '../package/entries.ts'

const SQLITE = /there is neither node:sqlite nor better-sqlite3: .*npm install better-sqlite3/
const connectionString = 'postgres://127.0.0.1:1/x'

/** Each store, a package that is missing, and what the error says. */
const STORES: [entry: string, create: string, missing: string, message: RegExp][] = [
  ['sqlite', "createSqliteInbox({ path: 'none.db' })", 'better-sqlite3', SQLITE],
  ['postgres', `createPostgresInbox({ connectionString: '${connectionString}' })`, 'pg', /npm install pg$/m],
  [
    'postgres',
    `createPostgresDuplicates({ connectionString: '${connectionString}' })`,
    'pg',
    /npm install pg/,
  ],
]

/**
 * Runs a program that creates a store without one of its packages, and then waits for deliveries. Node kills it after a
 * minute.
 */
async function run(
  entry: string,
  create: string,
  missing: string,
  then: string,
  code = 'ERR_MODULE_NOT_FOUND',
) {
  const hooks = `export const resolve = (name, context, next) => {
    if (name === '${missing}') throw Object.assign(new Error('${code}'), { code: '${code}' })
    return next(name, context)
  }`
  const program = `
    import { register } from 'node:module'
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)})
    const { getBuiltinModule } = process
    process.getBuiltinModule = (name) => (name === 'node:sqlite' ? undefined : getBuiltinModule(name))
    const { createReceiver } = await import('geohook')
    const { ${create.split('(')[0]} } = await import('geohook/${entry}')
    const store = ${create}
    setTimeout(() => {}, 60_000)
    ${then}`
  const started = startNode(['--input-type=module', '--eval', program], {}, { cwd: root })
  return { exitCode: await started.exited, stdout: started.stdout, stderr: started.stderr }
}

it.each(STORES)(
  '%s: %s without %s ends the process at the start',
  async (entry, create, missing, message) => {
    const { exitCode, stderr } = await run(entry, create, missing, '')
    expect(stderr).toMatch(message)
    expect(stderr).toContain("code: 'config_invalid'")
    expect(exitCode).toBe(1)
  },
)

it.each(STORES.filter(([, create]) => create.includes('Inbox')))(
  '%s: work() of %s without %s ends the process at the start',
  async (entry, create, missing, message) => {
    const receiver = "createReceiver({ signatureKey: 'x', inbox: store }).on('*', () => {})"
    const { exitCode, stderr } = await run(entry, create, missing, `store.work(${receiver})`)
    expect(stderr).toMatch(message)
    expect(exitCode).toBe(1)
  },
)

it.each(STORES.filter(([, create]) => create.includes('Inbox')))(
  '%s: a program that awaits a call of %s can handle that %s is missing',
  async (entry, create, missing, message) => {
    const then = `
      await store.stats().catch(({ code, message }) => console.log(code, message))
      await store.close()
      process.exit(0)`
    const { exitCode, stdout } = await run(entry, create, missing, then)
    expect(stdout).toMatch(/^config_invalid /)
    expect(stdout).toMatch(message)
    expect(exitCode).toBe(0)
  },
)

it('does not end the process if it has no free file descriptor to load a package', async () => {
  const [[entry, create, missing]] = STORES as [(typeof STORES)[number]]
  const then = `
    await new Promise((resolve) => setTimeout(resolve, 200))
    await store.stats().catch(({ code, message, cause }) => console.log(code, message, cause.code))
    process.exit(0)`
  const { exitCode, stdout } = await run(entry, create, missing, then, 'EMFILE')
  expect(stdout).toMatch(/^undefined there is neither .* EMFILE/)
  expect(exitCode).toBe(0)
})
