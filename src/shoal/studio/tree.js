// A tree of which only what is open is sent. Vue writes labels as text, never as markup.
// Drag and drop is a shortcut: whatever it does can be done with the keyboard and the boxes above the tree.
const KIND = "application/x-shoal-nodes";

export default {
  props: { lines: Array, editable: Boolean, label: String, locale: String, words: Object },
  emits: ["toggle", "more", "mark", "drop"],
  data() {
    return { at: 0, over: null };
  },
  watch: {
    lines() {
      this.at = Math.min(this.at, this.lines.length - 1);
    },
  },
  methods: {
    number(value) {
      return value.toLocaleString(this.locale);
    },
    count(one, many, value) {
      return (value === 1 ? one : many).replace("{0}", this.number(value));
    },
    describe(line) {
      if (line.empty) return this.words.empty;
      const rows = this.count(this.words.row, this.words.rows, line.rows);
      return line.open === null ? rows : `${this.count(this.words.value, this.words.values, line.values)}, ${rows}`;
    },
    id(line) {
      return JSON.stringify([line.path, !!line.more]);
    },
    focus(to) {
      this.at = Math.max(0, Math.min(to, this.lines.length - 1));
      this.$nextTick(() => this.$refs.items[this.at].focus());
    },
    // After a button above has done something, the cursor is back in the tree.
    settle() {
      this.focus(this.at);
    },
    markable(line) {
      return this.editable && line.depth > 0 && !line.more && !line.empty;
    },
    key(event, line, i) {
      const step = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: this.lines.length - 1 }[event.key];
      if (step !== undefined) this.focus(step);
      else if (event.key === "ArrowRight" && line.open === false) this.$emit("toggle", line.path);
      else if (event.key === "ArrowRight" && line.open) this.focus(i + 1);
      else if (event.key === "ArrowLeft" && line.open) this.$emit("toggle", line.path);
      else if (event.key === "ArrowLeft") this.focus(this.above(i));
      else if (event.key === "Enter") this.press(line);
      else if (event.key === " " && this.markable(line)) this.$emit("mark", line.path);
      else return;
      event.preventDefault();
    },
    above(i) {
      let to = i;
      while (to > 0 && this.lines[to].depth >= this.lines[i].depth) to--;
      return to;
    },
    press(line) {
      if (line.more) this.$emit("more", line.path);
      else if (line.open !== null) this.$emit("toggle", line.path);
    },
    dragged(event, line) {
      const marked = this.lines.filter((each) => each.chosen).map((each) => each.path);
      event.dataTransfer.setData(KIND, JSON.stringify(line.chosen ? marked : [line.path]));
      event.dataTransfer.effectAllowed = "move";
    },
    dragover(event, line) {
      if (!this.editable || !event.dataTransfer.types.includes(KIND)) return;
      event.preventDefault();
      this.over = this.id(line);
    },
    dropped(event, line) {
      this.over = null;
      const paths = JSON.parse(event.dataTransfer.getData(KIND) || "[]");
      if (!paths.length) return;
      event.preventDefault();
      const into = line.open === null && !line.empty ? line.path.slice(0, -1) : line.path;
      this.$emit("drop", { paths, into, empty: !!line.empty });
    },
  },
  template: `
    <ul class="tree" role="tree" :aria-label="label" aria-multiselectable="true">
      <li v-for="(line, i) in lines" :key="id(line)" ref="items" role="treeitem" class="tree-line"
          :class="{ value: line.open === null && !line.empty && !line.more, marked: line.chosen, over: over === id(line) }"
          :style="{ paddingLeft: 10 + 20 * line.depth + 'px' }" :tabindex="i === at ? 0 : -1"
          :aria-level="line.depth + 1" :aria-expanded="line.open === null || line.more ? undefined : line.open"
          :aria-selected="markable(line) ? !!line.chosen : undefined"
          :draggable="markable(line)" @dragstart="dragged($event, line)" @dragover="dragover($event, line)"
          @dragleave="over = null" @drop="dropped($event, line)"
          @keydown.self="key($event, line, i)" @focus="at = i" @click="press(line)">
        <template v-if="line.more"><span class="tree-more">{{ words.more.replace("{0}", number(line.more)) }}</span></template>
        <template v-else>
          <span class="tree-arrow" aria-hidden="true">{{ line.open === null ? "" : line.open ? "▾" : "▸" }}</span>
          <input v-if="markable(line)" type="checkbox" :checked="line.chosen" tabindex="-1"
                 :aria-label="words.mark.replace('{0}', line.name)" @click.stop="$emit('mark', line.path)" />
          <span class="tree-name">{{ line.name }}</span>
          <span class="tree-rows">{{ describe(line) }}</span>
        </template>
      </li>
    </ul>`,
};
