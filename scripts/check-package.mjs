// Packs the package, and uses it as its users do: installed from the tarball, each way in a project of its own.
// Names of projects in test/consumers may be given, to run those only.
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { consume, consumers } from './package/consumers.mjs'
import { run } from './package/run.mjs'
import { pack } from './package/tarball.mjs'

const bin = (name) => resolve('node_modules/.bin', name)
const folder = mkdtempSync(join(tmpdir(), 'geohook-package-'))
const failures = []

/** One line for each check; what went wrong is printed at the end, where it is seen. */
async function check(title, work) {
  const start = performance.now()
  const say = (mark, rest = '') =>
    console.log(
      `${mark} ${title.padEnd(24)} ${((performance.now() - start) / 1000).toFixed(1).padStart(5)} s ${rest}`,
    )
  try {
    const result = await work()
    say('ok  ', typeof result === 'string' ? result : '')
  } catch (error) {
    say('FAIL')
    failures.push(`--- ${title}\n${error instanceof Error ? error.message : error}`)
  }
}

/** Runs the checks a few at a time: installing waits for the disk more than it works. */
async function checkAll(names, work) {
  const queue = [...names]
  const workers = Array.from({ length: Math.max(2, Math.min(4, availableParallelism())) }, async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await work(name)
  })
  await Promise.all(workers)
}

let tarball = ''
try {
  await check('pack', async () => {
    const packed = await pack(folder)
    tarball = packed.tarball
    return `${packed.count} files, ${packed.size} bytes (${packed.unpackedSize} unpacked)`
  })
  if (tarball) {
    await check('publint', async () => void (await run(bin('publint'), ['run', tarball, '--strict'])))
    // node16: resolution before "exports" is not supported.
    const attw = [tarball, '--profile', 'node16', '--no-emoji', '--format', 'ascii']
    await check('are the types wrong', async () => void (await run(bin('attw'), attw)))
    const asked = process.argv.slice(2)
    await checkAll(asked.length > 0 ? asked : consumers(), (name) =>
      check(`consumer ${name}`, () => consume(name, tarball, folder)),
    )
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

if (failures.length > 0) {
  console.error(`\nThe package is not ready for its users:\n\n${failures.join('\n\n')}`)
  process.exitCode = 1
}
