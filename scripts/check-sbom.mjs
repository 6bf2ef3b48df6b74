// Checks the software bill of materials of the package, as `npm sbom` writes it: it is well-formed CycloneDX, it lists
// exactly the production dependencies in package-lock.json, and their licences are on the list below, like those of the
// packages that the build copies. Prints the versions of all these packages, and known advisories.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import bundledPackages from './bundled-packages.json' with { type: 'json' }
import { run } from './run.mjs'

/** Licences that permit use in any product and require no more than keeping their text. */
const LICENCES = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT']

/** Returns the packages in the lock file that `npm install geohook` installs, as `name@version`. */
function lockedDependencies() {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const names = Object.entries(packages)
    .filter(
      ([path, { dev, devOptional, optional, peer }]) => path && !dev && !devOptional && !optional && !peer,
    )
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`)
  return [...new Set(names)].sort()
}

// npm sbom finds too few packages with --omit, and marks a package for development if that needs another copy of it. So
// the lock file tells which components are for production.
const sbom = JSON.parse(await run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']))
const { components, dependencies, metadata } = sbom
assert.equal(sbom.bomFormat, 'CycloneDX')
assert.match(sbom.specVersion, /^1\.[5-9]$/)
assert.match(metadata.component.purl, /^pkg:npm\/geohook@/)

const references = new Set([metadata.component, ...components].map((component) => component['bom-ref']))
assert.equal(references.size, components.length + 1, 'two components have the same bom-ref')
for (const { ref, dependsOn } of dependencies)
  for (const name of [ref, ...dependsOn]) assert(references.has(name), `${name} is not a component`)

const nameOf = ({ purl }) => decodeURIComponent(purl.slice('pkg:npm/'.length))
const locked = lockedDependencies()
const production = components.filter((component) => locked.includes(nameOf(component)))
assert.deepEqual(production.map(nameOf).sort(), locked, 'the SBOM lacks packages of package-lock.json')
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const bundled = Object.keys(bundledPackages).map((name) => {
  const exact = `${name}@${packages[`node_modules/${name}`].version}`
  return components.find((component) => nameOf(component) === exact) ?? assert.fail(`the SBOM lacks ${exact}`)
})
for (const { purl, hashes, licenses = [] } of [...production, ...bundled]) {
  assert.match(purl, /^pkg:npm\/.+@\d/)
  assert.match(
    hashes.find(({ alg }) => alg === 'SHA-512')?.content ?? '',
    /^[0-9a-f]{128}$/,
    `${purl}: no hash`,
  )
  const ids = licenses.map(({ license, expression }) => expression ?? license.id ?? license.name)
  assert(ids.length > 0 && ids.every((id) => LICENCES.includes(id)), `${purl}: licence ${ids}`)
}
console.log(`All licences are one of these: ${LICENCES.join(', ')}`)
console.log(`dependencies: ${production.map(nameOf).join(', ')}`)
console.log(`bundled: ${bundled.map(nameOf).join(', ')}`)

// An advisory is only printed: it must not stop a change that has nothing to do with it.
const audit = await run('npm', ['audit', '--json', '--package-lock-only']).catch(({ message }) => message)
const { vulnerabilities } = JSON.parse(/\{.*\}/s.exec(audit)?.[0] ?? '{}')
const ofUsers = [...production, ...bundled].map((component) => nameOf(component).replace(/@[^@]+$/, ''))
console.log(
  vulnerabilities
    ? `advisories: ${ofUsers.filter((name) => name in vulnerabilities).join(', ') || 'none'}`
    : 'advisories: not known, because the registry does not answer `npm audit`',
)
