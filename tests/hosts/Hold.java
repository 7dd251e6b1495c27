// Hold.java - keeps memory that native code allocates for it, under two methods that HotSpot compiles.
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

public class Hold {
	static final List<ByteBuffer> kept = new ArrayList<>();

	static void innerHold(int size) { kept.add(ByteBuffer.allocateDirect(size)); }

	static void outerHold(int count) {
		for (int i = 0; i < count; i++)
			innerHold(20000);
	}

	public static void main(String[] arguments) throws Exception {
		for (int i = 0; i < 50; i++)
			outerHold(100);
		System.out.println("ready");
		Thread.sleep(600000);
	}
}
