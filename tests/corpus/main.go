// Command corpus prints real text with real keys: every line of the changelogs that the packages of this machine
// brought along, each as the package's name, a tab and the line.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

var errEnough = errors.New("enough lines")

func main() {
	root := flag.String("root", "/usr/share/doc", "`directory` with one directory per package")
	lines := flag.Int("lines", 0, "print so many lines; 0 for all")
	flag.Parse()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	c := corpus{out: out, left: *lines, bounded: *lines > 0}
	err := errors.Join(c.print(*root), out.Flush())
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

type corpus struct {
	out     *bufio.Writer
	left    int // lines to print, if bounded
	bounded bool
}

func (c *corpus) print(root string) error {
	files, err := filepath.Glob(filepath.Join(root, "*", "*hangelog*.gz"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no changelogs under %s", root)
	}
	for _, name := range files {
		if err := c.printFile(name); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if c.bounded && c.left > 0 {
		return fmt.Errorf("%d lines fewer than asked for", c.left)
	}
	return nil
}

// printFile prints one changelog. A last line without an end gets one.
func (c *corpus) printFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(z, 1<<20)
	key := filepath.Base(filepath.Dir(name))
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := c.printLine(key, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *corpus) printLine(key string, line []byte) error {
	if c.bounded {
		if c.left == 0 {
			return errEnough
		}
		c.left--
	}
	c.out.WriteString(key)
	c.out.WriteByte('\t')
	c.out.Write(line)
	return c.out.WriteByte('\n') // sticky: also an error of the writes before
}
