// A table of any length: a tall empty box gives the browser something to scroll, and the rows in view are
// fetched and drawn over it. Vue writes cells as text, never as markup.
const ROW = 30, TALLEST = 8e6;

export default {
  props: { source: String, rows: Number, heads: Array, height: Number, bare: Boolean, locale: String, words: Object },
  data() {
    return { first: 0, shown: [], tints: [], jump: "" };
  },
  computed: {
    visible() {
      return Math.max(1, Math.floor((this.height - 8) / ROW));
    },
    body() {
      return Math.min(this.rows * ROW, TALLEST);
    },
    most() {
      return Math.max(0, this.rows - this.visible);
    },
    last() {
      return Math.min(this.rows, this.first + this.visible);
    },
  },
  watch: {
    source: "reload",
    rows: "reload",
  },
  mounted() {
    this.reload();
  },
  methods: {
    reload() {
      this.first = 0;
      if (this.$refs.box) this.$refs.box.scrollTop = 0;
      this.fetch();
    },
    scrolled() {
      const box = this.$refs.box, room = box.scrollHeight - box.clientHeight;
      const share = room > 0 ? Math.min(1, box.scrollTop / room) : 0;
      this.first = Math.min(this.most, Math.round(share * this.most));
      this.fetch();
    },
    // One request at a time: while one is under way, only the newest wish is remembered.
    async fetch() {
      if (this.busy) {
        this.again = true;
        return;
      }
      this.busy = true;
      try {
        const answer = await fetch(`${this.source}?start=${this.first}&count=${this.visible + 2}`);
        if (answer.ok) {
          const found = await answer.json();
          this.shown = found.rows;
          this.tints = found.tints || [];
        }
      } finally {
        this.busy = false;
        if (this.again) {
          this.again = false;
          this.fetch();
        }
      }
    },
    go() {
      const row = Math.max(1, Math.min(this.rows, Number(this.jump) || 1)) - 1;
      const box = this.$refs.box, room = box.scrollHeight - box.clientHeight;
      box.scrollTop = this.most ? (Math.min(row, this.most) / this.most) * room : 0;
    },
    bar(head, value) {
      return Math.max(1, Math.round((26 * value) / Math.max(...head.bars)));
    },
    tint(i, j) {
      const share = (this.tints[i] || [])[j];
      return share ? { background: `color-mix(in srgb, var(--tint) ${Math.round(8 + 42 * share)}%, transparent)` } : {};
    },
    number(value) {
      return value.toLocaleString(this.locale);
    },
    fill(words, ...values) {
      return words.replace(/\{(\d)\}/g, (_, place) => values[place]);
    },
  },
  template: `
    <div class="grid-frame">
      <div class="grid-box" ref="box" tabindex="0" role="region" :aria-label="words.label"
           :style="{ height: height + (bare ? 52 : 92) + 'px' }" @scroll.passive="scrolled">
        <div :style="{ height: body + 100 + 'px', minWidth: 'max-content' }">
          <table class="grid-table">
            <thead><tr>
              <th class="grid-number" scope="col">{{ words.row }}</th>
              <th v-for="head in heads" :key="head.name" scope="col" :class="head.role && 'role-' + head.role">
                <div class="grid-name" :title="head.name">{{ head.name }}</div>
                <div class="grid-sub">
                  <span class="grid-type">{{ head.type || "…" }}</span>
                  <span v-if="head.missing" class="grid-missing">{{ fill(words.manyMissing, number(head.missing)) }}</span>
                  <span v-else-if="head.values !== undefined">{{ fill(words.values, number(head.values)) }}</span>
                </div>
                <svg v-if="head.bars && head.bars.length" class="grid-bars" viewBox="0 0 96 28" role="img"
                     :aria-label="fill(words.ends, ...head.ends)" preserveAspectRatio="none">
                  <rect v-for="(value, i) in head.bars" :x="i * (96 / head.bars.length)" :y="28 - bar(head, value)"
                        :width="96 / head.bars.length - 1" :height="bar(head, value)"><title>{{ fill(words.rows, number(value)) }}</title></rect>
                </svg>
                <div v-else-if="!bare" class="grid-bars grid-none">{{ head.bars ? words.different : "" }}</div>
                <div class="grid-ends" v-if="head.ends && head.ends[0]"><span>{{ head.ends[0] }}</span><span>{{ head.ends[1] }}</span></div>
                <div class="grid-ends" v-else-if="!bare">&nbsp;</div>
              </th>
            </tr></thead>
            <tbody>
              <tr v-for="(row, i) in shown.slice(0, visible)" :key="i">
                <th class="grid-number" scope="row">{{ number(first + i + 1) }}</th>
                <td v-for="(cell, j) in row" :key="j" :style="tint(i, j)" :title="cell" :class="{ 'grid-null': cell === null || cell === '' }">{{ cell === null || cell === "" ? words.missing : cell }}</td>
              </tr>
            </tbody>
          </table>
        </div>
      </div>
      <div class="grid-foot">
        <span>{{ fill(words.place, number(first + 1), number(last), number(rows)) }}</span>
        <form v-if="rows > visible" @submit.prevent="go">
          <label>{{ words.jump }} <input v-model="jump" inputmode="numeric" size="9" :aria-label="words.jump" /></label>
          <button type="submit">{{ words.go }}</button>
        </form>
      </div>
    </div>`,
};
