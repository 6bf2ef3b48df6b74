import { execFileSync } from 'node:child_process'

/** Examples and package tests use what users get, so the package is built once before the tests run. */
export function setup(): void {
  execFileSync(process.execPath, ['node_modules/tsup/dist/cli-default.js', '--no-dts', '--silent'], {
    stdio: 'inherit',
  })
}
