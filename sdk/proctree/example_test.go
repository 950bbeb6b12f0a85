//go:build unix

package proctree_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/toolhost/toolhost/sdk/proctree"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	c := proctree.Command("sh", "-c", "sleep 1000 & echo done; exit 3")
	c.Stdout = os.Stdout
	exit, err := c.Run(ctx)
	fmt.Println(exit, err) // and the sleep has ended
	// Output:
	// done
	// exit code 3 <nil>
}
