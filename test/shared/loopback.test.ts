import { expect, it } from 'vitest'
import { isLoopback } from '../../src/shared/loopback.ts'

it.each([
  'localhost',
  'LOCALHOST',
  '127.0.0.1',
  '127.255.255.255',
  '::1',
  '[::1]',
  '::ffff:127.0.0.1',
  '[::ffff:127.0.0.1]',
  '::FFFF:127.8.9.1',
  '::ffff:7f00:1',
  '[::ffff:7fff:ffff]',
])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true)
})

it.each([
  '',
  '.',
  '.localhost',
  'localhost.',
  'receiver.localhost',
  'a.b-c.localhost.',
  'localhost..',
  'a..localhost',
  'evillocalhost',
  'localhost.evil.example',
  'evil.example#.localhost',
  'evil.example/localhost',
  'user@localhost',
  'localhost\n',
  'localhost:80',
  '127.0.0.1.evil.example',
  '127.evil.example',
  '127.1',
  '127.0.0.1.',
  '127.0.0.256',
  '127.0.0.01',
  '1127.0.0.1',
  '126.0.0.1',
  '128.0.0.1',
  '10.0.0.1',
  '0.0.0.0',
  '[127.0.0.1]',
  '[localhost]',
  '::',
  '[::]',
  '::2',
  '[::1',
  '::1]',
  '[[::1]]',
  '::1%lo',
  '::ffff:10.0.0.1',
  '::ffff:127.0.0.256',
  '::ffff:7e00:1',
  '::ffff:17f00:1',
  '::7f00:1',
  'fe80::1',
])('%j is not', (host) => {
  expect(isLoopback(host)).toBe(false)
})
