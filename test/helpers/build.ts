import { execFileSync } from 'node:child_process'

/** Builds the package once before the tests run: examples and package tests use the published files. */
export function setup(): void {
  execFileSync(process.execPath, ['node_modules/tsup/dist/cli-default.js', '--no-dts', '--silent'], {
    stdio: 'inherit',
  })
}
