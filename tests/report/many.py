"""many.py DIR N: a journal of N candidates, with texts that try to be HTML, as a search of that size would leave it."""
import json, os, random, sqlite3, sys

EVIL = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1"><!-- \u2028 & "'


def main(directory, n):
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, 'journal.sqlite')
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.executescript('''
      CREATE TABLE journal (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE search (id INTEGER PRIMARY KEY, agent TEXT NOT NULL, options TEXT NOT NULL, seed INTEGER NOT NULL,
        started TEXT NOT NULL, finished TEXT, UNIQUE (agent, options, seed));
      CREATE TABLE candidate (search INTEGER NOT NULL, number INTEGER NOT NULL, iteration INTEGER NOT NULL, parent INTEGER, plan INTEGER,
        mends INTEGER, twin INTEGER, agent TEXT NOT NULL, lever TEXT NOT NULL, step TEXT NOT NULL, why TEXT NOT NULL, schedule TEXT,
        source TEXT, digest BLOB NOT NULL, verdict TEXT NOT NULL, message TEXT, cost REAL, cycles REAL, seconds REAL, instructions REAL,
        utilization REAL, counters TEXT, memory TEXT, took REAL NOT NULL, at REAL, coverage TEXT, place TEXT,
        PRIMARY KEY (search, number)) WITHOUT ROWID;
      CREATE TABLE counter (name TEXT PRIMARY KEY, unit TEXT NOT NULL, help TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE exchange (search INTEGER NOT NULL, agent TEXT NOT NULL, place INTEGER NOT NULL, model TEXT NOT NULL, asked TEXT NOT NULL,
        answer TEXT NOT NULL, tokens_in REAL, tokens_out REAL, money REAL, seconds REAL NOT NULL, PRIMARY KEY (search, agent, place));
      CREATE TABLE fact (search INTEGER NOT NULL, key TEXT NOT NULL, value NOT NULL, PRIMARY KEY (search, key)) WITHOUT ROWID;''')
    db.executemany('INSERT INTO journal VALUES (?, ?)', [('target', 'made-up'), ('problem', 'gemm m=1 n=1 k=1 ' + EVIL), ('version', '0'),
                                                          ('machine', 'x'), ('unit', 'cycles')])
    db.execute("INSERT INTO search VALUES (1, ?, '', 1, '2026-01-01 00:00:00', '2026-01-01 01:00:00')", ('rules ' + EVIL,))
    facts = {'command': 'tilewright tune ' + EVIL, 'version': '0', 'bound_cost': 9e5, 'bound_compute': 9e5, 'bound_memory': 2e5,
             'bound_limit': EVIL, 'operations': 1e9, 'bytes': 1e7, 'utilization_of': "the machine's peak", 'opened': 1.0}
    db.executemany('INSERT INTO fact VALUES (1, ?, ?)', facts.items())
    db.execute('INSERT INTO counter VALUES (?, ?, ?)', ('busy', 'cycles', EVIL))
    r = random.Random(1)
    lines = ['int line_%d = %d; // %s' % (i, i, EVIL) for i in range(200)]
    cost = {0: 1e8}
    source = {0: lines}
    verdicts = ['correct'] * 6 + ['wrong', 'does not build', 'duplicate', 'slower, not checked']
    for i in range(n):
        parent = None if i == 0 else r.choice([p for p in range(max(0, i - 400), i) if p in cost][-60:] or [0])
        verdict = 'correct' if i == 0 else r.choice(verdicts)
        if i:
            source[i] = list(source[parent])
            source[i][r.randrange(200)] = 'changed(%d);' % i
        measured = verdict in ('correct', 'slower, not checked')
        c = cost[parent] * r.uniform(0.97, 1.2) if i else 1e8
        c = max(c, 9.5e5)
        if verdict == 'correct':
            cost[i] = c
        db.execute('INSERT INTO candidate VALUES (1,?,?,?,0,NULL,?,?,?,?,?,?,?,?,?,?,?,NULL,NULL,NULL,?,?,NULL,?,?,?,?)',
                   (i, i * 10 // n, parent, 0 if verdict == 'duplicate' else None, 'rules', r.choice(['tile', 'pipeline', 'unroll ' + EVIL]),
                    'step', EVIL, 'tile m=%d' % i, None if verdict == 'duplicate' else '\n'.join(source[i]), i.to_bytes(32, 'big'), verdict,
                    None if measured else 'element %d is wrong %s' % (i, EVIL), c if measured else None, 9e5 / c * 0.001 if measured else None,
                    json.dumps({'busy': c / 2}) if measured else None, 0.1, i * 0.1, 'every element', 'node' + EVIL))
    for i in range(40):
        db.execute('INSERT INTO exchange VALUES (1, ?, ?, ?, ?, ?, 1000, 200, 0.01, 2.0)',
                   ('llm', (1 << 24) | i << 16 | (0 if i % 3 == 0 else 0x8000 | i % 2), 'model' + EVIL, EVIL, EVIL))
    db.commit()
    db.close()


main(sys.argv[1], int(sys.argv[2]))
