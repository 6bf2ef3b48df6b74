import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
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
export const consumers = () =>
  readdirSync(CONSUMERS)
    .filter((name) => existsSync(join(CONSUMERS, name, 'package.json')))
    .sort((a, b) => linksOf(b).length - linksOf(a).length)

/**
 * Copies a project, installs the tarball in the copy, and runs the project's tests. Links the project's devDependencies
 * from this repository, so that it uses the same versions of tools, frameworks and types.
 */
export async function consume(name, tarball, folder) {
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
