// The Model Context Protocol's official client against `tilewright mcp`: node client.mjs COMMAND
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const command = process.argv[2];
const machine = 'gemmini-16x16-int8', problem = 'gemm m=32 n=32 k=32';
const client = new Client({ name: 'test', version: '1' });
await client.connect(new StdioClientTransport({ command, args: ['mcp'], stderr: 'inherit' }));
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const ok = (result) => (assert.ok(!result.isError, JSON.stringify(result)), result.structuredContent);
let passed = 0;
async function test(name, body) {
  await body();
  passed++;
  console.log(`ok ${passed} - ${name}`);
}

await test('names, tools and resources are listed', async () => {
  assert.equal(client.getServerVersion().name, 'tilewright');
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name).sort(),
    ['compare', 'diagnose', 'emit', 'model', 'ops', 'run', 'targets', 'tune', 'wisdom']);
  const { resources } = await client.listResources();
  for (const topic of ['architecture', 'isa', 'rules', 'gemm/kernel', 'conv2d/menu'])
    assert.ok(resources.some((r) => r.uri === `tilewright://${machine}/${topic}`), topic);
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri });
    assert.ok(contents[0].text.length > 20, uri);
  }
  await assert.rejects(client.readResource({ uri: 'tilewright://nothing/isa' }), /unknown resource/);
});

await test('prompts are listed and filled', async () => {
  assert.deepEqual((await client.listPrompts()).prompts.map((p) => p.name), ['plan', 'implement']);
  const { messages } = await client.getPrompt({ name: 'plan', arguments: { target: machine, problem } });
  assert.match(messages[0].content.text, /int8_t C\[32\]\[32\]/);
});

await test('machines and ops are looked up', async () => {
  assert.ok(ok(await call('targets', {})).targets.some((t) => t.name === machine));
  assert.ok(ok(await call('ops', { op: 'gemm' })).ops[0].keys.some((k) => k.name === 'm'));
});

const { source } = ok(await call('emit', { target: machine, problem }));
await test('a kernel is checked and measured, and a wrong one found', async () => {
  const good = ok(await call('run', { target: machine, problem, source }));
  assert.equal(good.correct, true);
  assert.ok(good.cycles > 0);
  const wrong = ok(await call('run', { target: machine, problem, source: source.replace('mvout', 'if (0) mvout') }));
  assert.equal(wrong.correct, false);
  assert.match(wrong.error, /C/);
  const broken = ok(await call('run', { target: machine, problem, source: 'void test( {' }));
  assert.equal(broken.correct, false);
  assert.match(broken.error, /error/);
});

await test('two kernels are compared', async () => {
  const both = ok(await call('compare', { target: machine, problem, source_a: source, source_b: source }));
  assert.equal(both.speedup_of_b, 1);
});

await test('the model and wisdom answer', async () => {
  assert.ok(ok(await call('model', { target: machine, problem })).steps.length > 0);
  assert.ok(Array.isArray(ok(await call('wisdom', {})).wisdom));
});

await test('wrong arguments are refused', async () => {
  const wrong = [['run', { target: machine, problem }, /needs 'source'/], ['run', { target: machine, problem, source: 1 }, /must be a string/],
    ['tune', { target: machine, problem, nonsense: 1 }, /no argument 'nonsense'/], ['nothing', {}, /unknown tool/],
    ['model', { target: machine, problem: 'gemm --help' }, /must not contain options/]];
  for (const [name, args, says] of wrong) await assert.rejects(call(name, args), says);
  const unknown = await call('model', { target: 'gemmini', problem });
  assert.equal(unknown.isError, true);
  assert.match(unknown.structuredContent.error, /gemmini/);
});

await test('a search tells how far it is, while another call is answered', async () => {
  const seen = [];
  let ended = false;
  const tuned = call('tune', { target: machine, problem, wisdom: false, iterations: 2 }, { onprogress: (p) => seen.push(p) })
    .then((r) => ((ended = true), r));
  ok(await call('ops', {}));
  assert.equal(ended, false);
  const result = ok(await tuned);
  assert.ok(result.best.cycles > 0);
  assert.ok(seen.length > 1 && seen.every((p, i) => i === 0 || p.progress > seen[i - 1].progress));
});

await test('a search is cancelled and the server goes on', async () => {
  const abort = new AbortController();
  const tuned = call('tune', { target: machine, problem: 'gemm m=512 n=512 k=512', wisdom: false }, { signal: abort.signal });
  setTimeout(() => abort.abort(), 500);
  await assert.rejects(tuned);
  await client.ping();
  ok(await call('ops', {}));
});

await client.close();
console.log(`${passed} passed, 0 failed`);
