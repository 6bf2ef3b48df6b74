import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'

/**
 * Builds the package once before all tests, because some of them run the built files. With `KEEP_BUILD=true`, uses the
 * last build, so that several test runs can use it at the same time.
 */
export function setup(): void {
  linkForExamples()
  if (process.env.KEEP_BUILD === 'true') return
  execFileSync(process.execPath, ['node_modules/tsup/dist/cli-default.js', '--no-dts', '--silent'], {
    stdio: 'inherit',
  })
}

/** Links the package into a folder where all examples find it, so that tests need not install each example. */
function linkForExamples(): void {
  mkdirSync('examples/node_modules', { recursive: true })
  // Not created again if it exists, because another test run may use it.
  if (!existsSync('examples/node_modules/geohook/package.json'))
    symlinkSync('../..', 'examples/node_modules/geohook', 'junction')
}
