// Packs the package, installs the tarball in each project of test/consumers, and runs the project's tests.
// Optional arguments: names of the projects to run.

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { deadLinks } from './check-links.mjs'
import { pack } from './pack.mjs'
import { run } from './run.mjs'

const CONSUMERS = resolve('test/consumers')
const TOOLS = resolve('node_modules')
const INSTALL = [
  'install',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--ignore-scripts',
  '--no-package-lock',
]

const manifestOf = (name) => JSON.parse(readFileSync(join(CONSUMERS, name, 'package.json'), 'utf8'))
const linksOf = (name) => Object.keys(manifestOf(name).devDependencies ?? {})

/** Returns the projects in test/consumers. The projects with the most tools come first, because they take longest. */
const consumers = () =>
  readdirSync(CONSUMERS)
    .filter((name) => existsSync(join(CONSUMERS, name, 'package.json')))
    .sort((a, b) => linksOf(b).length - linksOf(a).length)

/**
 * Copies a project, installs the tarball in the copy, and runs the project's tests. Links the project's devDependencies
 * from this repository, so that it uses the same versions of tools, frameworks and types.
 */
async function consume(name, tarball, folder) {
  const project = join(folder, name)
  cpSync(join(CONSUMERS, name), project, { recursive: true })
  cpSync(join(CONSUMERS, 'shared'), project, { recursive: true })
  const { devDependencies = {}, ...manifest } = JSON.parse(
    readFileSync(join(project, 'package.json'), 'utf8'),
  )
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  await run('npm', [...INSTALL, tarball], { cwd: project })
  for (const dependency of linksOf(name)) {
    const link = join(project, 'node_modules', dependency)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(TOOLS, dependency), link)
  }
  await run('npm', ['test', '--silent'], {
    cwd: project,
    env: {
      PATH: `${join(TOOLS, '.bin')}${delimiter}${process.env.PATH}`,
      NODE_OPTIONS: '--unhandled-rejections=strict',
    },
  })
}

const bin = (name) => resolve('node_modules/.bin', name)
const folder = mkdtempSync(join(tmpdir(), 'geohook-package-'))
const failures = []

/** Runs a check and prints a line with the result. Collects errors, which are printed at the end. */
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

/** Runs up to four checks in parallel, because installing mostly waits for the disk. */
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
    if (packed.size > 1_200_000) throw new Error(`the tarball has ${packed.size} bytes, more than 1.2 MB`)
    return `${packed.count} files, ${packed.size} bytes (${packed.unpackedSize} unpacked)`
  })
  if (tarball) {
    await check('publint', async () => void (await run(bin('publint'), ['run', tarball, '--strict'])))
    await check('links', async () => {
      await run('tar', ['-xzf', tarball, '-C', folder])
      const links = await deadLinks(join(folder, 'package'))
      const dead = links.dead.filter((link) => !/\bpictures\/[\w-]+\.png$/.test(link)) // only in the repository
      if (dead.length > 0) throw new Error(dead.join('\n'))
      return `${links.documents} documents`
    })
    // The node16 profile ignores tools that do not read "exports" in package.json: geohook does not support them.
    const attw = [tarball, '--profile', 'node16', '--no-emoji', '--format', 'ascii']
    await check('are the types wrong', async () => void (await run(bin('attw'), attw)))
    const requested = process.argv.slice(2)
    await checkAll(requested.length > 0 ? requested : consumers(), (name) =>
      check(`consumer ${name}`, () => consume(name, tarball, folder)),
    )
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

if (failures.length > 0) {
  console.error(`\nThe package check failed:\n\n${failures.join('\n\n')}`)
  process.exitCode = 1
}
